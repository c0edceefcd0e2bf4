// What became of a fact, in words.
import type { Tone } from '../../components/chip.tsx';
import { formatDay } from '../../lib/format.ts';

interface Outcome {
  validFrom: string;
  validTo: string | null;
  retractedAt: string | null;
  supersededById?: string | null;
  supersededBy?: { factId: string } | null;
}

export interface State {
  tone: Tone;
  name: string;
  means: string;
}

/** An administrator's value outranks what agents state against it: their fact then holds for no time at all. */
const isOutranked = ({ validFrom, validTo }: Outcome) => validTo !== null && validTo === validFrom;

export function stateOf(fact: Outcome, now = Date.now()): State {
  if (fact.retractedAt) return { tone: 'bad', name: 'retracted', means: 'Stated to be wrong: it never held' };
  if (fact.supersededById || fact.supersededBy) {
    return isOutranked(fact)
      ? { tone: 'warn', name: 'outranked', means: 'An administrator states another value, so it never held' }
      : { tone: 'plain', name: 'superseded', means: 'Another value followed' };
  }
  if (fact.validTo !== null && new Date(fact.validTo).getTime() <= now)
    return { tone: 'plain', name: 'ended', means: `It held until ${formatDay(fact.validTo)}` };
  if (new Date(fact.validFrom).getTime() > now)
    return { tone: 'info', name: 'to come', means: `It holds from ${formatDay(fact.validFrom)}` };
  return { tone: 'good', name: 'holds', means: 'It holds now' };
}

/** The object of a fact on one line. */
export const objectText = (object: unknown): string => (typeof object === 'string' ? object : JSON.stringify(object));

export const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** '1 Mar 2026 – 1 Jun 2026'; 'since 1 Mar 2026' if no end is known. */
export const validity = (from: string, to: string | null): string =>
  to === null ? `since ${formatDay(from)}` : `${formatDay(from)} – ${formatDay(to)}`;
