// Names that clients send. The database has the same rules: identity.is_project_id() and identity.is_branch().

/** What a project may be called, as an error says it. */
export const PROJECT_NAME = '1 to 200 letters, digits and . _ / @ : + -';

export const isProject = (name: string): boolean => /^[A-Za-z0-9._/@:+-]{1,200}$/.test(name);

/** As `git check-ref-format --branch` has it. */
export const isBranch = (name: string): boolean =>
  [...name].length <= 255 &&
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a name has none of them
  /^[^\u0000-\u001f\u007f-\u009f ~^:?*[\\]+$/.test(name) &&
  !/^[-/.]|^@$|\/\/|\.\.|@\{|\/\.|[/.]$|\.lock(\/|$)/.test(name);
