// Checks of a request before it runs.
import { type ExecutionArgs, GraphQLError } from 'postgraphile/graphql';
import { KnownError } from '../../base/errors.ts';

/** Answers a request with the error that the check throws, instead of running it. */
export const checking = (check: (args: ExecutionArgs) => void): NonNullable<GraphileConfig.Plugin['grafast']> => ({
  middleware: {
    execute(next, { args }) {
      try {
        check(args);
      } catch (error) {
        if (error instanceof GraphQLError) return { errors: [error] };
        if (error instanceof KnownError) return { errors: [new GraphQLError(error.message, { originalError: error })] };
        throw error;
      }
      return next();
    },
  },
});
