// The client for Python: its own tests, against a gateway of this process, and what it sends against the GraphQL schema.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  buildSchema,
  type GraphQLObjectType,
  type GraphQLOutputType,
  getNamedType,
  isInputObjectType,
  isLeafType,
  isListType,
  isNonNullType,
  isObjectType,
  parse,
  validate,
} from 'graphql';
import { describeOnEmbedded, itOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { useTestGateway } from '../../../gateway/tests/support/gateway.ts';
import { createTestHome } from '../../../gateway/tests/support/home.ts';
import { describeWithPython, runPython } from '../../../gateway/tests/support/python.ts';

const root = join(import.meta.dirname, '..', '..', '..');

interface FieldOfClass {
  name: string;
  isList: boolean;
  isNullable: boolean;
}

interface Described {
  documents: Record<string, string>;
  /** By the name of the GraphQL type and of its field. */
  classes: Record<string, Record<string, FieldOfClass>>;
  arguments: Record<string, string[]>;
  itemFields: string[];
}

/** What Python calls the scalars of GraphQL. */
const SCALARS: Record<string, string> = {
  ...{
    String: 'str',
    ID: 'str',
    UUID: 'str',
    Datetime: 'str',
    Boolean: 'bool',
    Int: 'int',
    BigInt: 'int',
    Float: 'float',
  },
  JSON: 'any',
};

describeWithPython('the client for Python', () => {
  describe('the suite of unittest', () => {
    const gateway = useTestGateway();
    const env = async () => ({
      L9_URL: gateway.instance.url,
      L9_KEY: gateway.apiKey('C'),
      L9_KEY_OF_L: gateway.apiKey('L'),
      L9_TOKEN: await gateway.token({ caller: 'C' }),
    });
    const passes = async (module: string, extra: NodeJS.ProcessEnv = {}) =>
      runPython(['-m', 'unittest', `tests.${module}`], { ...(await env()), ...extra });

    // The pages print what they find, so their project is the only one there.
    it('passes the examples of its pages', () => passes('test_examples'));
    it('passes against a gateway', () => passes('test_server'));
    itOnEmbedded('passes against servers that answer otherwise', () => passes('test_hostile'));
    itOnEmbedded('passes where calls are sent again', () => passes('test_retries'));
    itOnEmbedded('passes by its names and annotations', () => passes('test_public'));
    itOnEmbedded('passes with a server that it starts', async () => {
      const home = await createTestHome();
      try {
        const command = JSON.stringify([process.execPath, join(root, 'bin', 'l9-memory.cjs')]);
        await passes('test_embedded', { L9_MEMORY_COMMAND: command, L9_MEMORY_TEST_HOME: home.home });
      } finally {
        await home.drop();
      }
    });
  });

  describeOnEmbedded('a request of the client', () => {
    const schema = buildSchema(readFileSync(join(root, 'gateway', 'schema.graphql'), 'utf8'));
    let described: Described;
    beforeAll(async () => {
      described = JSON.parse(await runPython([join('tests', 'describe.py')]));
    });

    it('is valid by the GraphQL schema', () => {
      expect(Object.keys(described.documents)).toHaveLength(11);
      const faults = Object.entries(described.documents).flatMap(([name, document]) =>
        validate(schema, parse(document)).map(({ message }) => `${name}: ${message}`),
      );
      expect(faults).toStrictEqual([]);
    });

    it('has the types that the schema says', () => {
      const faults = Object.entries(described.classes).flatMap(([typeName, fields]) => {
        const type = schema.getType(typeName);
        if (!isObjectType(type)) return [`${typeName}: no such type`];
        return Object.entries(fields).flatMap(([name, field]) => faultsOf(type, name, field));
      });
      expect(faults).toStrictEqual([]);
    });

    it('offers every argument of its operations', () => {
      const input = (name: string) => {
        const type = schema.getType(name);
        if (!isInputObjectType(type)) throw new Error(`${name}: no such input`);
        return Object.keys(type.getFields()).filter((field) => field !== 'clientMutationId');
      };
      const argumentsOf = (name: string) =>
        schema
          .getQueryType()!
          .getFields()
          [name]!.args.map((argument) => argument.name);
      const offered = {
        save: input('SaveMemoryInput'),
        update: input('UpdateMemoryInput'),
        delete: input('DeleteMemoryInput'),
        relate: input('RelateInput'),
        feedback: input('RecordFeedbackInput'),
        search: argumentsOf('searchMemory'),
        find: argumentsOf('memoryFind'),
        // Lists of PostGraphile have these, too; k is how many there are.
        facts: argumentsOf('findFacts').filter((name) => name !== 'first' && name !== 'offset'),
      };
      for (const [method, names] of Object.entries(offered))
        expect(described.arguments[method], method).toStrictEqual(names.toSorted());
      expect(described.itemFields).toStrictEqual(input('MemoryStoreItem').toSorted());
    });
  });
});

/** Content and elements of arrays of columns are nullable for PostGraphile, but constraints of the database say that they are not. */
const NEVER_NULL = new Set(['Memory.content']);

function faultsOf(of: GraphQLObjectType, name: string, field: FieldOfClass): string[] {
  const place = `${of.name}.${name}`;
  const defined = of.getFields()[name];
  if (!defined) return [`${place}: no such field`];
  const isNullable = !isNonNullType(defined.type) && !NEVER_NULL.has(place);
  const bare = (isNonNullType(defined.type) ? defined.type.ofType : defined.type) as GraphQLOutputType;
  const named = getNamedType(defined.type);
  const expected = isLeafType(named) ? (SCALARS[named.name] ?? 'str') : named.name;
  const faults: string[] = [];
  if (field.name !== expected) faults.push(`${place}: is ${expected}, not ${field.name}`);
  if (field.isList !== isListType(bare)) faults.push(`${place}: is ${field.isList ? 'no' : 'a'} list`);
  if (field.name !== 'any' && field.isNullable !== isNullable)
    faults.push(`${place}: may ${isNullable ? '' : 'never '}be null`);
  return faults;
}
