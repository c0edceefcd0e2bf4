// One file of Markdown as one memory, with what its front matter says. `l9-memory ingest` keeps whole folders, in sections.
import { UNDECODED } from '../../input/text.ts';
import { readFrontMatter } from '../support/front-matter.ts';
import { isMarkdown } from '../support/markdown-files.ts';
import type { ImportFormat, ImportItem } from './format.ts';
import { NOT_UTF8 } from './objects.ts';

/** As content is limited. */
const MAX_CHARACTERS = 1024 * 1024;

export const markdown: ImportFormat = {
  name: 'markdown',
  recognises: ({ name, first, head }) =>
    isMarkdown(name) || (first === null && readFrontMatter(head.replace(/\r\n?/g, '\n')).length > 0),
  async *read(chunks): AsyncGenerator<ImportItem> {
    let text = '';
    for await (const chunk of chunks) {
      text += chunk;
      if (text.length > 2 * MAX_CHARACTERS) break;
    }
    if (text.includes(UNDECODED)) yield { line: 1, problem: NOT_UTF8 };
    else {
      const plain = text.replace(/\r\n?/g, '\n');
      const { title, tags, aliases, timestamp, notices, length } = readFrontMatter(plain);
      const envelope = { ...(title && { title }), ...(aliases.length > 0 && { aliases }) };
      const content = plain
        .slice(length)
        .replace(/^\uFEFF/, '')
        .trim();
      yield { line: 1, fields: { content, tags, timestamp, envelope }, notices };
    }
  },
};
