// A reader's answers are equal to the last byte, whatever is written, changed and deleted among the memories that it can't read.
import { attempt } from '../../support/attacker.ts';
import { serverUrl } from '../../support/engine.ts';
import { changesIn, runJobs } from './changes.ts';
import { type Asked, questionsFor } from './questions.ts';
import { plateaus, seeded } from './texts.ts';
import { type Draft, openWorld, type Place, type Reader, type World } from './world.ts';

/** How many questions each reader is asked, again after each change. In WebAssembly each takes several times as long. */
const count = Number(process.env.HIDDEN_ROWS_QUESTIONS || (serverUrl ? 24 : 6));
const seed = Number(process.env.HIDDEN_ROWS_SEED || 1);

describe.each<[string, readonly Draft[], boolean]>([
  // Up to 2,000 readable memories are scored one by one, and meaning is compared exactly.
  ['among a few hundred readable memories', [], true],
  ['among thousands of memories that an attacker saved', plateaus(2_000), false],
])('an answer %s', (_, more, asksMeaning) => {
  const random = seeded(seed);
  let world: World;
  let questions: Map<Reader, Asked[]>;
  beforeAll(async () => {
    world = await openWorld(random, more);
    await runJobs(world.db);
    // Each reader is asked others, so that few questions come to all probes.
    const all = questionsFor(world, random, count * world.readers.length, asksMeaning);
    questions = new Map(world.readers.map((reader, n) => [reader, all.slice(n * count, (n + 1) * count)]));
  });
  afterAll(() => world?.close());

  const places: [string, (keyof World['places'])[]][] = [
    ['that have expired or belong to another tenant', ['expired', 'otherTenant']],
    ['of another scope, user or org', ['private', 'otherUser', 'otherOrg']],
    ['of another project', ['otherProject']],
  ];
  it.each(places)('does not depend on memories %s', async (_, names) => {
    const hidden: Place[] = names.map((name) => world.places[name]);
    const readers = world.readers.filter(({ reads }) => hidden.every(({ name }) => !reads.includes(name)));
    expect(readers.length).toBeGreaterThan(0);
    const before = new Map<Reader, string[]>();
    for (const reader of readers) before.set(reader, await answersTo(reader, questions.get(reader)!));
    const differences: Difference[] = [];
    for (const change of changesIn(world, hidden, random)) {
      await change.make();
      await runJobs(world.db);
      for (const reader of readers) {
        const answers = await answersTo(reader, questions.get(reader)!);
        for (const [n, answer] of answers.entries()) {
          const first = before.get(reader)![n]!;
          if (answer !== first)
            differences.push({
              change: change.name,
              reader: reader.name,
              ...questions.get(reader)![n]!,
              first,
              answer,
            });
        }
      }
    }
    expect(summaryOf(differences)).toBe('');
  });
});

interface Difference extends Asked {
  change: string;
  reader: string;
  first: string;
  answer: string;
}

/** Each question in the same state: what it writes is rolled back. */
const answersTo = (reader: Reader, questions: readonly Asked[]): Promise<string[]> =>
  reader.session(async (client) => {
    const answers: string[] = [];
    for (const { probe, statement, values } of questions) {
      const { rows, error } = await attempt(client, statement, values);
      if (error) throw new Error(`${probe}: ${error.code} ${error.message}`);
      answers.push(withoutNewIds(rows[0].answer));
    }
    return answers;
  });

/** Hits and lessons get ids of their own in each search. */
const withoutNewIds = (answer: string) => answer.replace(/"access_id": "[^"]*"/g, '"access_id": null');

/** Empty if there is none; otherwise how many there are of each probe and change, and the first of each probe. */
function summaryOf(differences: readonly Difference[]): string {
  const byProbe = Map.groupBy(differences, ({ probe }) => probe);
  return [...byProbe]
    .map(([probe, all]) => {
      const times = [...Map.groupBy(all, ({ change }) => change)].map(
        ([change, some]) => `${some.length} after ${change}`,
      );
      return `${probe}: ${times.join(', ')}. For example ${example(all[0]!)}`;
    })
    .join('\n\n');
}

function example({ reader, change, about, first, answer }: Difference): string {
  const at = [...answer].findIndex((letter, n) => letter !== first[n]);
  const near = (text: string) => text.slice(Math.max(0, at - 150), at + 150);
  return `${reader}, after ${change}, about ${about}\n  before: …${near(first)}…\n  after:  …${near(answer)}…`;
}
