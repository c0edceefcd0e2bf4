// The filters of LangGraph's searches, on values of items.

type Filter = Record<string, unknown> | undefined;

/** As the stores of LangGraph compare: numbers by size, everything else for equality. */
const OPERATORS: Record<string, (value: unknown, given: unknown) => boolean> = {
  $eq: (value, given) => value === given,
  $ne: (value, given) => value !== given,
  $gt: (value, given) => Number(value) > Number(given),
  $gte: (value, given) => Number(value) >= Number(given),
  $lt: (value, given) => Number(value) < Number(given),
  $lte: (value, given) => Number(value) <= Number(given),
  $in: (value, given) => Array.isArray(given) && given.includes(value),
  $nin: (value, given) => !Array.isArray(given) || !given.includes(value),
};

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

export const matches = (value: Record<string, unknown>, filter: Filter): boolean =>
  Object.entries(filter ?? {}).every(([field, condition]) => {
    if (!isObject(condition) || !Object.keys(condition).every((name) => name in OPERATORS))
      return value[field] === condition;
    return Object.entries(condition).every(([name, given]) => OPERATORS[name]!(value[field], given));
  });

/** A text that the server compares as it is: a longer one is left to `matches`. */
const isPlain = (text: string) => text.trim() !== '' && text.length <= 200;

/** The part of a filter that the server can look at, too: equality of plain fields. It leaves out only what the whole filter leaves out. */
export function whereOf(filter: Filter): Record<string, unknown> {
  const where: Record<string, unknown> = {};
  for (const [field, condition] of Object.entries(filter ?? {})) {
    const given = isObject(condition) && Object.keys(condition).join() === '$eq' ? condition.$eq : condition;
    if (/^\w+$/.test(field) && (typeof given === 'boolean' || (typeof given === 'string' && isPlain(given))))
      where[`value.${field}`] = given;
  }
  return where;
}
