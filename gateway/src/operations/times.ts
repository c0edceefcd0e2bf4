// Fields that hold a time. A day alone is taken as its beginning in UTC, and as its end where something lasts until that day.
import { z } from 'zod';
import { readTime } from '../input/times.ts';

const MESSAGE = 'must be a time as in 2026-12-31T23:59:59Z, or a day as in 2026-12-31';

export const time = z.iso.datetime({ offset: true, message: MESSAGE });
/** The time before which something happened or holds. */
export const until = z.iso.datetime({ offset: true, message: MESSAGE });

const isTime = (schema: z.ZodType): boolean =>
  schema instanceof z.ZodISODateTime || (schema instanceof z.ZodUnion && (schema.options as z.ZodType[]).some(isTime));

/** The time that a text says, if the schema wants a time and the text is a day or is written in another usual way; else the text. */
export function readTimeField(schema: z.ZodType, text: string): string {
  if (!/^\s*\d{4}-\d\d-\d\d/.test(text) || !isTime(schema) || schema.safeParse(text).success) return text;
  // A description makes another schema of the same definition.
  const given = readTime(text, { endsDay: schema.def === until.def });
  return given?.hasZone ? given.time : text;
}
