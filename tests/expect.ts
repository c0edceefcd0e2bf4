import type * as jest from '@jest/globals';

type Expect = typeof jest.expect;
type Matchers = Record<string, unknown>;

/** `expect(actual, message)`: a failure also shows the message, as in Vitest and jest-expect-message. */
export function expectWithMessage(expect: Expect): Expect {
  const withMessage = (actual: unknown, message?: unknown) =>
    message === undefined || message === '' ? expect(actual) : explained(expect(actual), String(message));
  return Object.assign(withMessage, expect) as Expect;
}

function explained<T extends object>(matchers: T, message: string): T {
  const explain = (error: unknown): never => {
    if (error instanceof Error) {
      const stack = error.stack?.replace(error.message, `${message}\n\n${error.message}`);
      error.message = `${message}\n\n${error.message}`;
      if (stack) error.stack = stack;
    }
    throw error;
  };
  return new Proxy(matchers, {
    get(target, name, receiver) {
      const member: unknown = (target as Matchers)[name as string];
      // `not`, `rejects` and `resolves` hold matchers in their turn.
      if (typeof member === 'object' && member !== null) return explained(member, message);
      if (typeof member !== 'function') return Reflect.get(target, name, receiver);
      return (...args: unknown[]) => {
        try {
          const result: unknown = member.apply(target, args);
          return result instanceof Promise ? result.catch(explain) : result;
        } catch (error) {
          return explain(error);
        }
      };
    },
  });
}
