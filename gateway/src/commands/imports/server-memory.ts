// The file of the reference memory server of MCP: lines of entities with observations, and of relations between them. Its tool
// read_graph answers with the same as one object of two lists.
import { isObject } from '../../operations/read-input.ts';
import type { ImportFormat } from './format.ts';
import { type Fields, type Read, readObjects } from './objects.ts';

const text = (value: unknown): string | null =>
  typeof value === 'string' && value.trim() !== '' ? value.trim() : null;

export const serverMemory: ImportFormat = {
  name: 'server-memory',
  // A graph may be longer than what is looked at.
  recognises: ({ first, head }) =>
    (first === null ? /^\s*\{[\s\S]{0,1000}"(?:entities|relations)"\s*:\s*\[/.test(head) : isGraph(first)) ||
    (first !== null &&
      ((first.type === 'entity' && 'entityType' in first) || (first.type === 'relation' && 'relationType' in first))),
  read: (chunks) => readObjects(chunks, (object) => (isGraph(object) ? itemsOfGraph : itemsOf)(object)),
};

const isGraph = ({ entities, relations }: Fields) => Array.isArray(entities) && Array.isArray(relations);

function itemsOfGraph({ entities, relations }: Fields): Read[] {
  const typed = (type: string, list: unknown) =>
    (list as unknown[]).map((one) => (isObject(one) ? { ...one, type } : { type }));
  return [...typed('entity', entities), ...typed('relation', relations)].flatMap(itemsOf);
}

function itemsOf(object: Fields): Read[] {
  if (object.type === 'entity') {
    const name = text(object.name);
    if (!name) return [{ problem: 'name: must be a text' }];
    const type = text(object.entityType);
    const observations = Array.isArray(object.observations) ? object.observations.map(text) : [];
    if (observations.includes(null)) return [{ problem: 'observations: must be texts' }];
    const said = type ? [fact(name, 'is a', type)] : [];
    return [
      ...said,
      ...observations.map((observation) => ({
        fields: { content: `${name}: ${observation}`, envelope: { entity: name } },
      })),
    ];
  }
  const [from, to, relation] = [text(object.from), text(object.to), text(object.relationType)];
  if (object.type === 'relation' && from && to && relation) return [fact(from, relation, to)];
  return [{ problem: 'neither an entity with a name, nor a relation with from, to and relationType' }];
}

const fact = (subject: string, predicate: string, object: string) => ({
  fields: {
    kind: 'fact',
    content: `${subject} ${predicate.replaceAll('_', ' ')} ${object}`,
    envelope: { subject, predicate, object },
  },
});
