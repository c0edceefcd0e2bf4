// Measures each part of a search: the same queries with one part switched off by the settings of the tenant.
import { type Client, type ClientOptions, connect } from '../../gateway/src/commands/support/client.ts';

const FIELDS =
  'lexicalWeight semanticWeight lexicalContextWeight semanticContextWeight usesChunks chunkWeight threadWeight neighbourWeight speakerBoost commonWordShare ' +
  'minRelevance recencyBoost importanceBoost';

interface Settings {
  lexicalWeight: number;
  semanticWeight: number;
  lexicalContextWeight: number;
  semanticContextWeight: number;
  usesChunks: boolean;
  chunkWeight: number;
  threadWeight: number;
  neighbourWeight: number;
  speakerBoost: number;
  commonWordShare: number;
  minRelevance: number;
  recencyBoost: number;
  importanceBoost: number;
}

type Mode = 'hybrid' | 'lexical' | 'semantic';

export interface Variant {
  name: string;
  mode: Mode;
  settings: Partial<Settings>;
}

const without = {
  '- thread': { threadWeight: 0 },
  '- neighbours': { neighbourWeight: 0 },
  '- speaker': { speakerBoost: 0 },
  '- context': { lexicalContextWeight: 0, semanticContextWeight: 0 },
  '- boosts': { recencyBoost: 0, importanceBoost: 0 },
  '- min_relevance': { minRelevance: 0 },
};
const withoutInVectors = {
  '- common words': { commonWordShare: 1 },
  '- whole': { chunkWeight: 1 },
  '- chunks': { usesChunks: false },
};

const variants = (mode: Mode, switches: Record<string, Partial<Settings>>): Variant[] => [
  { name: mode, mode, settings: {} },
  ...Object.entries(switches).map(([name, settings]) => ({ name, mode, settings })),
  { name: '- all of these', mode, settings: Object.assign({}, ...Object.values(switches)) },
];

export const VARIANTS: readonly Variant[] = [
  ...variants('hybrid', { ...without, ...withoutInVectors }),
  ...variants('lexical', without),
  ...variants('semantic', { ...without, ...withoutInVectors }),
];

/** Changes settings as an administrator. `restore` restores the previous ones. */
export async function openSettings(env: NodeJS.ProcessEnv, options: ClientOptions) {
  const admin: Client = await connect(env, options);
  const set = async (settings: Partial<Settings>): Promise<Settings> => {
    const given = Object.entries(settings).map(([name, value]) => `${name}: ${JSON.stringify(value)}`);
    const { admin: changed } = await admin.request<{ admin: { setSearchSettings: Settings } }>(
      `mutation { admin { setSearchSettings${given.length > 0 ? `(${given.join(', ')})` : ''} { ${FIELDS} } } }`,
      {},
    );
    return changed.setSearchSettings;
  };
  const before = await set({});
  return { use: (settings: Partial<Settings>) => set({ ...before, ...settings }), restore: () => set(before) };
}
