import { readItems } from '../../../src/commands/support/json-items.ts';

describe('readItems', () => {
  const read = async (text: string, size: number) => {
    async function* chunks() {
      for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size);
    }
    const items = [];
    for await (const item of readItems(chunks())) items.push([item.line, item.text]);
    return items;
  };

  it('returns the same items however the stream is divided into chunks', async () => {
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

  it('returns nothing for an empty stream or an empty array', async () => {
    for (const text of ['', ' \n', '[]', '[ \n ]']) expect(await read(text, 3)).toStrictEqual([]);
  });

  it('returns every element of a broken array', async () => {
    expect(await read('[{"a":1},}, {"b":2}', 5)).toStrictEqual([
      [1, '{"a":1}'],
      [1, '}'],
      [1, '{"b":2}'],
    ]);
  });

  it('finds the list in the object that a file is, whatever stands before it', async () => {
    const text =
      '{"total": 2,\n "relations": [{"results": [1, "]"]}], "note": "\\"results\\": [",\n"results": [\n{"memory":"a"},{"memory":"b"}\n], "more": [3]}';
    expect(await read(text, 400)).toStrictEqual([
      [4, '{"memory":"a"}'],
      [4, '{"memory":"b"}'],
    ]);
    for (const one of ['{"content":"a","results":[1]}', '{"a":{"results":[1]}}'])
      expect(await read(`${one}\n${one}`, 400)).toStrictEqual([
        [1, one],
        [2, one],
      ]);
  });

  it('takes one object over several lines for one item, and lines of which the first is cut short for lines', async () => {
    for (let size = 1; size < 20; size++) {
      expect(await read('\n{\n "a": {"b": 1},\r\n "c": 2\n}\n', size)).toStrictEqual([
        [2, '{\n "a": {"b": 1},\n "c": 2\n}'],
      ]);
      expect(await read('{"a":\n{"b":2}\r{"c":3}\r\n\r\n{"d":4}', size)).toStrictEqual([
        [1, '{"a":'],
        [2, '{"b":2}'],
        [3, '{"c":3}'],
        [5, '{"d":4}'],
      ]);
    }
  });

  it('skips items that are too long', async () => {
    const long = 'x'.repeat(17 * 1024 * 1024);
    expect(await read(`{"a":1}\n${long}\n{"b":2}`, 65_536)).toStrictEqual([
      [1, '{"a":1}'],
      [2, null],
      [3, '{"b":2}'],
    ]);
  });
});
