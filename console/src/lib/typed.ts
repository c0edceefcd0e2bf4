// What was typed into a form, as the API takes it. Nothing typed is null: the argument is left out.

export const textOf = (text: string): string | null => text.trim() || null;
export const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text));

/** With commas or spaces between. */
export function listOf(text: string): string[] | null {
  const list = text.split(/[\s,]+/).filter(Boolean);
  return list.length > 0 ? list : null;
}
