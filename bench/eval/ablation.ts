// Measures each part of a search: the same queries with one part switched off by the settings of the tenant.
import { type Client, type ClientOptions, connect } from '../../gateway/src/commands/client.ts';

const FIELDS = 'lexicalWeight semanticWeight contextWeight usesChunks recencyBoost importanceBoost';

interface Settings {
  lexicalWeight: number;
  semanticWeight: number;
  contextWeight: number;
  usesChunks: boolean;
  recencyBoost: number;
  importanceBoost: number;
}

export interface Variant {
  name: string;
  mode: 'hybrid' | 'lexical' | 'semantic';
  settings: Partial<Settings>;
}

const without = {
  context: { contextWeight: 0 },
  chunks: { usesChunks: false },
  boosts: { recencyBoost: 0, importanceBoost: 0 },
};

export const VARIANTS: readonly Variant[] = [
  { name: 'hybrid', mode: 'hybrid', settings: {} },
  { name: '- context', mode: 'hybrid', settings: without.context },
  { name: '- chunks', mode: 'hybrid', settings: without.chunks },
  { name: '- boosts', mode: 'hybrid', settings: without.boosts },
  { name: '- all three', mode: 'hybrid', settings: { ...without.context, ...without.chunks, ...without.boosts } },
  { name: 'lexical', mode: 'lexical', settings: {} },
  { name: '- context', mode: 'lexical', settings: without.context },
  { name: '- boosts', mode: 'lexical', settings: without.boosts },
  { name: 'semantic', mode: 'semantic', settings: {} },
  { name: '- context', mode: 'semantic', settings: without.context },
  { name: '- chunks', mode: 'semantic', settings: without.chunks },
  { name: '- boosts', mode: 'semantic', settings: without.boosts },
];

/** Changes settings as an administrator. `restore` restores the previous ones. */
export async function openSettings(env: NodeJS.ProcessEnv, options: ClientOptions) {
  const admin: Client = await connect(env, options);
  const set = async (settings: Partial<Settings>): Promise<Settings> => {
    const { setSearchSettings } = await admin.request<{ setSearchSettings: { searchSettings: Settings } }>(
      `mutation ($input: SetSearchSettingsInput!) { setSearchSettings(input: $input) { searchSettings { ${FIELDS} } } }`,
      { input: settings },
    );
    return setSearchSettings.searchSettings;
  };
  const before = await set({});
  return { use: (settings: Partial<Settings>) => set({ ...before, ...settings }), restore: () => set(before) };
}
