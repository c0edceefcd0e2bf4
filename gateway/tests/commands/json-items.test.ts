import { readItems } from '../../src/commands/json-items.ts';

describe('readItems', () => {
  const read = async (text: string, size: number) => {
    async function* chunks() {
      for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
    }
    const items = [];
    for await (const item of readItems(chunks())) items.push([item.line, item.text]);
    return items;
  };

  it('gives the same items however the stream is cut', async () => {
    const array = ' [ {"a":"x,]\\\\\\"["} ,\n\n[1,[2]],3 , "s,",\n{"b":\n{}}\n] ';
    const expected = [
      [1, '{"a":"x,]\\\\\\"["}'],
      [3, '[1,[2]]'],
      [3, '3'],
      [3, '"s,"'],
      [4, '{"b":\n{}}'],
    ];
    const jsonLines = '\n{"a":1}\r\n\r\n  {"b":2}\n{"c":3}';
    for (let size = 1; size < 40; size++) {
      expect(await read(array, size)).toStrictEqual(expected);
      expect(await read(jsonLines, size)).toStrictEqual([
        [2, '{"a":1}'],
        [4, '{"b":2}'],
        [5, '{"c":3}'],
      ]);
    }
  });

  it('has nothing of an empty stream or an empty array', async () => {
    for (const text of ['', ' \n', '[]', '[ \n ]']) expect(await read(text, 3)).toStrictEqual([]);
  });

  it('loses nothing of a broken array', async () => {
    expect(await read('[{"a":1},}, {"b":2}', 5)).toStrictEqual([
      [1, '{"a":1}'],
      [1, '}'],
      [1, '{"b":2}'],
    ]);
  });

  it('does not take in what is too long', async () => {
    const long = 'x'.repeat(17 * 1024 * 1024);
    expect(await read(`{"a":1}\n${long}\n{"b":2}`, 65_536)).toStrictEqual([
      [1, '{"a":1}'],
      [2, null],
      [3, '{"b":2}'],
    ]);
  });
});
