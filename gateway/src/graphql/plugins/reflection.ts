// reflect (mutation) and recallLessons (query), for which texts are turned into vectors.
import { access, type Step } from 'postgraphile/grafast';
import { parse } from 'postgraphile/graphql';
import { extendSchema } from 'postgraphile/utils';
import { lesson } from '../../operations/reflection.ts';
import { fieldsOf } from '../../operations/sdl.ts';
import { args, block, described, fieldsThat, inputs, payload, plansOf, type RunOperation } from './run-operation.ts';

const lessonFields = fieldsOf(lesson, 'output', {
  reflection_id: 'UUID',
  packet_id: 'UUID',
  last_seen: 'Datetime',
  expires_at: 'Datetime',
});

const typeDefs = `
  """A reflection that was recalled."""
  type RecalledLesson {
  ${block(lessonFields)}
    """The reflection itself, with its relations."""
    reflection: Reflection
    """The memory that says it."""
    memory: Memory
  }
  type RecallResult { lessons: [RecalledLesson!]!  searched: MemorySearched! }
  enum ReflectStatus {
    inserted
    "It was known in these or nearly these words."
    reinforced
  }
  input ReflectInput {
  clientMutationId: String
  ${block(inputs.get('reflect')!)}
  }
  type ReflectPayload { clientMutationId: String  status: ReflectStatus!  reflection: Reflection }

  extend type Query {
    ${described('recall_lessons')}
    recallLessons(
    ${args('recall_lessons')}
    ): RecallResult
  }
  extend type Mutation {
    ${described('reflect')}
    reflect(input: ReflectInput!): ReflectPayload
  }
`;

export function reflectionPlugin(run: RunOperation) {
  return extendSchema((build) => {
    const { memory: memories, reflection: reflections } = build.pgResources;
    const reflectionOf = ($id: Step) => reflections!.get({ reflection_id: $id } as never);
    const { query, mutation } = fieldsThat(run);
    return {
      typeDefs: parse(typeDefs),
      objects: {
        Query: { plans: { recallLessons: query('recall_lessons') } },
        Mutation: { plans: { reflect: mutation('reflect') } },
        RecallResult: {
          plans: { lessons: ($r: Step) => access($r, 'lessons'), searched: ($r: Step) => access($r, 'searched') },
        },
        RecalledLesson: {
          plans: {
            ...plansOf(lessonFields),
            reflection: ($lesson: Step) => reflectionOf(access($lesson, 'reflection_id')),
            memory: ($lesson: Step) => memories!.get({ packet_id: access($lesson, 'packet_id') } as never),
          },
        },
        ReflectPayload: payload({
          status: ($output) => access($output, 'status'),
          reflection: ($output) => reflectionOf(access($output, ['reflection', 'reflection_id'])),
        }),
      },
    } as never;
  });
}
