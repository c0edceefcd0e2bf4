/** Why the settings of an editor are left as they are: the file, and what is wrong with it. */
export class SettingsProblem extends Error {
  constructor(file: string, cause: string) {
    super(`${file}: ${cause}`);
  }
}

export const lineOf = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;
