// What a person is told of an error. Messages of the API are whole sentences, and name the field and its limit.
import type { CombinedError } from '@urql/preact';

export interface Explained {
  title: string;
  text: string;
  /** The field of the form that it is about. */
  field: string | null;
  /** Whether the same request may succeed a little later. */
  isPassing: boolean;
}

const TITLES: Readonly<Record<string, string>> = {
  SCOPE_DENIED: 'Not allowed',
  NOT_YOURS: 'Not found, or not yours',
  SECRET_FOUND: 'This text contains a secret',
  INVALID_INPUT: 'Please check the input',
  LIMIT_EXCEEDED: 'Too much at once',
  RATE_LIMITED: 'Too many requests',
  BUSY: 'The server is busy',
  UNAUTHENTICATED: 'Please sign in again',
};
const PASSING: ReadonlySet<string> = new Set(['BUSY', 'RATE_LIMITED']);

export function explain(error: CombinedError): Explained {
  if (error.networkError && error.graphQLErrors.length === 0) {
    return {
      title: 'The server does not answer',
      text: 'It may be starting again, or the connection is down. What you see may be old.',
      field: null,
      isPassing: true,
    };
  }
  const [first] = error.graphQLErrors;
  const code = String(first?.extensions.code ?? '');
  return {
    title: TITLES[code] ?? 'This did not work',
    text: first?.message ?? error.message,
    field: typeof first?.extensions.field === 'string' ? first.extensions.field : null,
    isPassing: PASSING.has(code),
  };
}
