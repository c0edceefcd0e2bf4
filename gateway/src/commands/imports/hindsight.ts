// What Hindsight knows in a bank: a list of memory units, as its API lists them or within the object of a whole bank, or the documents
// and observations of an archive that it exports.
import { isObject } from '../../operations/read-input.ts';
import type { ImportFormat } from './format.ts';
import { type Fields, type Read, readObjects } from './objects.ts';

const LISTS = ['memory_units', 'memories', 'units', 'facts', 'items', 'results'];
const TYPES = ['world', 'experience', 'opinion', 'observation', 'bank'];
const ABOUT = ['id', 'bank_id', 'fact_type', 'type', 'context', 'document_id', 'entities', 'occurred_end'];

/** A document of an archive, whose text comes before its facts and may be longer than what is looked at. */
const DOCUMENT = /^\s*\{[^{}[\]]{0,1000}?"original_text"\s*:/;

const isUnit = (one: Fields) =>
  typeof one.text === 'string' &&
  !('content' in one) &&
  ('fact_type' in one || 'mentioned_at' in one || 'occurred_start' in one || TYPES.includes(String(one.type)));

/** The units of a whole bank or of a document, if the object is one. */
function unitsOf(bank: Fields): unknown[] | null {
  if ('text' in bank) return null;
  const units = LISTS.map((name) => bank[name]).find(Array.isArray) as unknown[] | undefined;
  if (!units || !('original_text' in bank)) return units ?? null;
  return units.map((unit) => (isObject(unit) ? { document_id: bank.id, ...unit } : unit));
}

export const hindsight: ImportFormat = {
  name: 'hindsight',
  recognises: ({ first, head }) =>
    first === null ? DOCUMENT.test(head) : isUnit(first) || (unitsOf(first)?.filter(isObject).some(isUnit) ?? false),
  read: (chunks) =>
    readObjects(chunks, (object) =>
      (unitsOf(object) ?? [object]).map((unit) => (isObject(unit) ? memoryOf(unit) : { problem: 'not a JSON object' })),
    ),
};

function memoryOf(unit: Fields): Read {
  const { text, tags, metadata, occurred_start, mentioned_at, date, created_at } = unit;
  if (typeof text !== 'string' || text.trim() === '') return { problem: 'text: must be a text' };
  const about = ABOUT.filter((name) => unit[name] != null && unit[name] !== '').map((name) => [name, unit[name]]);
  // An archive has observations in a file of their own, which do not name their type.
  const kind = 'proof_count' in unit && { fact_type: 'observation' };
  return {
    fields: {
      content: text,
      timestamp: occurred_start ?? mentioned_at ?? date ?? created_at,
      ...(Array.isArray(tags) && { tags }),
      envelope: { ...(isObject(metadata) ? metadata : {}), hindsight: { ...kind, ...Object.fromEntries(about) } },
    },
  };
}
