// `npm run eval -- secrets [FOLDER OF CRANFIELD]`: how many planted secrets the guard of the database finds and how many texts
// without a secret it refuses, beside the preset that secretlint recommends, on the same texts.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openTestDatabase } from '../../../db/tests/support/test-database.ts';
import { readBenign } from './benign.ts';
import { plantSecrets } from './planted.ts';

export interface SecretsOptions {
  /** Also list what was missed and what was refused without need. */
  details?: boolean;
}

const bench = join(import.meta.dirname, '..', '..');

/** What secretlint finds in a text. Its types are missing where it is not installed, so it is imported by name. */
async function openSecretlint(): Promise<Finds> {
  if (!existsSync(join(bench, 'node_modules'))) {
    const npm = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    execFileSync('npm', npm, { cwd: bench, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  const [core, preset] = ['@secretlint/core', '@secretlint/secretlint-rule-preset-recommend'];
  const { lintSource } = await import(core!);
  const { creator } = await import(preset!);
  return async (content) => {
    const { messages } = await lintSource({
      source: { content, filePath: '/memory.txt', contentType: 'text', ext: '.txt' },
      options: { noPhysicFilePath: true, config: { rules: [{ id: preset, rule: creator, options: {} }] } },
    });
    return messages.map(({ ruleId }: { ruleId: string }) => ruleId);
  };
}

type Finds = (text: string) => Promise<string[]>;

export async function evaluateSecrets(cranfield: string | undefined, options: SecretsOptions): Promise<number> {
  const planted = plantSecrets();
  const benign = readBenign(cranfield);
  const database = await openTestDatabase();
  try {
    const ours: Finds = async (text) => {
      const rows = await database.sql(
        'C',
        `select distinct f.pattern from secrets.find_in_document(jsonb_build_object('content', $1::text), false) as f`,
        [text],
      );
      return rows.map(({ pattern }) => pattern);
    };
    const theirs = await openSecretlint();
    const figures = [];
    for (const [name, finds] of Object.entries({ 'l9-memory': ours, secretlint: theirs })) {
      const missed = [];
      const started = performance.now();
      for (const it of planted) if ((await finds(it.text)).length === 0) missed.push(it);
      const refused = [];
      for (const it of benign) {
        const found = await finds(it.text);
        if (found.length > 0) refused.push({ ...it, found });
      }
      figures.push({
        finder: name,
        found: `${planted.length - missed.length} of ${planted.length} (${percent(planted.length - missed.length, planted.length)})`,
        'refused without need': `${refused.length} of ${benign.length} (${percent(refused.length, benign.length)})`,
        seconds: ((performance.now() - started) / 1000).toFixed(1),
      });
      if (options.details) {
        for (const it of missed) console.log(`${name} missed ${it.provider}, ${it.surroundings}`);
        for (const it of refused) console.log(`${name} refused ${it.source}: ${it.found.join(', ')}`);
      }
    }
    console.table(figures);
    return 0;
  } finally {
    await database.close();
  }
}

const percent = (part: number, whole: number) => `${((100 * part) / whole).toFixed(1)} %`;
