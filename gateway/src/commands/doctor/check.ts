// One line of `l9-memory doctor`.
import { reasonOf } from '../support/client.ts';

export interface Check {
  name: string;
  /** True: well; false: wrong; null: nothing is wrong, but somebody may want to know. */
  isWell: boolean | null;
  /** What was found, and where something is wrong what to do. */
  says: string;
}

export const well = (name: string, says: string): Check => ({ name, isWell: true, says });
export const wrong = (name: string, says: string): Check => ({ name, isWell: false, says });
export const note = (name: string, says: string): Check => ({ name, isWell: null, says });

/** What `work` returns, or a check that says why it failed. */
export async function tried<T>(name: string, work: () => T | Promise<T>): Promise<T | Check> {
  try {
    return await work();
  } catch (error) {
    return wrong(name, whyOf(error as Error));
  }
}

/** An error that no other command expects is a line here, too. */
export function whyOf(error: Error): string {
  try {
    return reasonOf(error);
  } catch {
    return error.message;
  }
}
