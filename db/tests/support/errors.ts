/** What the promise is rejected with. Fails where it is fulfilled. */
// biome-ignore lint/suspicious/noExplicitAny: errors differ by library, and tests name the fields they expect
export const errorOf = (promise: Promise<unknown>): Promise<any> =>
  promise.then(
    () => {
      throw new Error('no error, though one was expected');
    },
    (error) => error,
  );
