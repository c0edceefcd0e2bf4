// What a hook or a prompt of MCP recalls stands in the transcript of a session, between these lines. It is in memory already, so it is neither archived nor
// extracted again. A text within the block can't write the last line: `recall/block.ts` escapes tags.
export const BLOCK_BEGINS = '<l9-memory-recall>';
export const BLOCK_ENDS = '</l9-memory-recall>';

const BLOCK = new RegExp(`\\s*${BLOCK_BEGINS}[\\s\\S]*?${BLOCK_ENDS}`, 'g');

/** A text of a transcript without what was recalled in it. */
export const withoutRecalled = (text: string): string =>
  text.includes(BLOCK_BEGINS) ? text.replace(BLOCK, '').trimStart() : text;
