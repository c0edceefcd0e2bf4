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
