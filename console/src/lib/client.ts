// The client of the GraphQL API, with the key or token of the person.
import { type Client, cacheExchange, createClient, fetchExchange, mapExchange } from '@urql/core';
import { session, signOut } from './session.ts';

export const createApi = (secret: string): Client =>
  createClient({
    url: '/graphql',
    preferGetMethod: false,
    fetchOptions: { headers: { authorization: `Bearer ${secret}` } },
    exchanges: [
      mapExchange({
        onError(error) {
          const isRefused = error.graphQLErrors.some(({ extensions }) => extensions.code === 'UNAUTHENTICATED');
          // An answer to an earlier key says nothing about the present one.
          if ((isRefused || error.response?.status === 401) && session.get().secret === secret) {
            signOut(error.graphQLErrors[0]?.message ?? 'The key or token is not accepted.');
          }
        },
      }),
      cacheExchange,
      fetchExchange,
    ],
  });
