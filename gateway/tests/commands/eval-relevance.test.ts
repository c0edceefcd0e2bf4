// What `npm run eval -- relevance` counts, and when it fails.
import { type Collection, readCollection } from '../../../bench/eval/collections.ts';
import { brokenPromises, offTopic, type RelevanceFigures, relevanceOf } from '../../../bench/eval/relevance.ts';

const found = (...hits: string[]) => ({ hits, nearest: [] as string[] });
const nearest = (...ids: string[]) => ({ hits: [] as string[], nearest: ids });

describe('the judgement of relevance', () => {
  it('counts the questions about other subjects that have no hits', () => {
    expect(relevanceOf([], [nearest('a'), found('a'), nearest(), nearest('b')]).kept_out).toBe(0.75);
  });

  it('counts the recall that is lost relative to that without a bound', () => {
    const asked = (answer: ReturnType<typeof found>) => ({
      relevant: new Set(['a', 'b']),
      answer,
      unbounded: found('a', 'x'),
    });
    expect(relevanceOf([asked(found('a', 'x')), asked(nearest('a'))], []).recall_lost).toBe(0.5);
    expect(relevanceOf([], []).recall_lost).toBe(0);
  });

  it('counts what is shown first, among hits or nearest', () => {
    const asked = (answer: ReturnType<typeof found>) => ({ relevant: new Set(['a']), answer, unbounded: answer });
    const figures = relevanceOf(
      [asked(found('a')), asked(nearest('a', 'x')), asked(found('x', 'a')), asked(nearest())],
      [],
    );
    expect(figures.first).toBe(0.5);
  });
});

describe('the check of relevance', () => {
  const good: RelevanceFigures = { kept_out: 0.92, recall_lost: 0.01, first: 0.85 };
  const broken = (change: Partial<RelevanceFigures>) =>
    brokenPromises(new Map([['paraphrases', { ...good, ...change }]]));

  it('passes for good figures, as a mean over the collections', () => {
    expect(broken({})).toStrictEqual([]);
    const mixed = new Map([
      ['code', { ...good, kept_out: 1 }],
      ['paraphrases', { ...good, kept_out: 0.8 }],
    ]);
    expect(brokenPromises(mixed)).toStrictEqual([]);
  });

  it('names what is broken', () => {
    expect(broken({ kept_out: 0.89 })).toStrictEqual(['kept out: 0.890 is less than 0.9']);
    expect(broken({ recall_lost: 0.03 })).toStrictEqual(['recall lost: 0.030 is more than 0.02']);
    expect(broken({ first: 0.7 })).toStrictEqual(['paraphrases found first: 0.700 is less than 0.8']);
  });
});

describe('a question about another subject', () => {
  const collections = new Map<string, Collection>(
    ['code', 'cjk', 'paraphrases'].map((name) => [name, readCollection(name)]),
  );

  it('comes from all other collections, as often as there are own ones, and goes to every project', () => {
    for (const [name, { queries }] of collections) {
      const asked = offTopic(name, collections);
      expect(asked).toHaveLength(queries.length);
      const own = new Set(queries.map(({ text }) => text));
      expect(asked.filter(({ text }) => own.has(text))).toStrictEqual([]);
      for (const [other, { queries: theirs }] of collections) {
        const texts = new Set(theirs.map(({ text }) => text));
        if (other !== name) expect(asked.filter(({ text }) => texts.has(text)).length, name).toBeGreaterThan(20);
      }
      expect(new Set(asked.map(({ project }) => project))).toStrictEqual(
        new Set(queries.map(({ project }) => project)),
      );
    }
  });
});
