import { errorKinds } from '../../src/base/errors.ts';

const AT_ONCE = 6;
const codes = new Set(Object.values(errorKinds).map(({ code }) => code));

export interface Answer {
  status: number;
  text: string;
}

/** What is wrong with an answer: it is masked, has no code of docs/reference/errors.md, or is none at all. */
export function faultIn({ status, text }: Answer): string | null {
  const shown = () =>
    `HTTP ${status} ${text.replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>').slice(0, 300)}`;
  if (status >= 500) return shown();
  if (/INTERNAL|-32603|something went wrong/.test(text)) return shown();
  // That names no field.
  if (text.includes('a value is malformed or out of range')) return shown();
  let body: {
    errors?: { extensions?: { code?: string } }[];
    result?: { isError?: boolean; content: { text: string }[] };
  };
  try {
    body = JSON.parse(text);
  } catch {
    return shown();
  }
  for (const { extensions } of body.errors ?? []) {
    if (!codes.has(extensions?.code ?? '')) return shown();
  }
  if (body.result?.isError && !codes.has(body.result.content[0]!.text.split(' ')[0]!)) return shown();
  return null;
}

/** Does the work for all items, some at a time. */
export async function inTurns<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const open = items.values();
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (const item of open) await work(item);
    }),
  );
}
