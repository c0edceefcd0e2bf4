// Makes an editor known to the server: an actor with the rights of C, and a key of its own, which an administrator can revoke.
import { hostname } from 'node:os';
import type { Config } from '../../config/config.ts';
import type { Editor, EditorActor } from '../../editors/editor.ts';
import type { InstalledEditor } from '../../home/editors.ts';
import { findOrStartServer } from '../../home/find-server.ts';
import { type Client, connect } from '../support/client.ts';

const RIGHTS = `role readableScopes writableScopes canCleanUp maxImportance maxConfidence maxLessonConfidence maxPriority
  readsPerMinute writesPerMinute`;
const ACTORS = `query ($callers: [String!]) { admin { actors(filter: { caller: { in: $callers } }) { caller isActive ${RIGHTS} } } }`;
const REGISTER = `mutation ($caller: String!, $creator: String!, $source: String!, $agent: String!, $role: String!,
  $readableScopes: [String], $writableScopes: [String], $canCleanUp: Boolean, $maxImportance: Float, $maxConfidence: Float,
  $maxLessonConfidence: Float, $maxPriority: String, $readsPerMinute: Int, $writesPerMinute: Int) {
  admin { registerActor(caller: $caller, creator: $creator, source: $source, agent: $agent, role: $role,
    readableScopes: $readableScopes, writableScopes: $writableScopes, canCleanUp: $canCleanUp, maxImportance: $maxImportance,
    maxConfidence: $maxConfidence, maxLessonConfidence: $maxLessonConfidence, maxPriority: $maxPriority,
    readsPerMinute: $readsPerMinute, writesPerMinute: $writesPerMinute) { caller } }
}`;
const KEY =
  'query ($keyId: UUID!) { admin { apiKeys(filter: { keyId: { equalTo: $keyId } }) { caller revokedAt expiresAt } } }';
const CREATE =
  'mutation ($caller: String!, $name: String!) { admin { createApiKey(caller: $caller, name: $name) { apiKey keyId } } }';
const REVOKE = 'mutation ($keyId: UUID!) { admin { revokeApiKey(keyId: $keyId) { keyId } } }';

interface Rights {
  caller: string;
  isActive: boolean;
  [right: string]: unknown;
}

const asAdmin = async (config: Config, env: NodeJS.ProcessEnv): Promise<Client> => {
  await findOrStartServer(config.home, env);
  return connect(env, {});
};

export type Identity = Pick<InstalledEditor, 'caller' | 'keyId' | 'apiKey'>;

/** The key of an editor, made if there is none that counts. Throws if no server runs or can be started. */
export async function identify(
  config: Config,
  env: NodeJS.ProcessEnv,
  { title, actor }: Editor,
  known: Identity | undefined,
): Promise<Identity> {
  const client = await asAdmin(config, env);
  if (known?.keyId && known.apiKey && (await counts(client, known.keyId))) return known;
  await register(client, actor);
  const name = `${title} on ${hostname()}`.slice(0, 100);
  const { admin } = await client.request<{ admin: { createApiKey: { apiKey: string; keyId: string } } }>(CREATE, {
    caller: actor.caller,
    name,
  });
  return { caller: actor.caller, ...admin.createApiKey };
}

/** An actor that is there already keeps the rights that an administrator gave it. */
async function register(client: Client, { caller, ...names }: EditorActor): Promise<void> {
  const { admin } = await client.request<{ admin: { actors: Rights[] } }>(ACTORS, { callers: ['C', caller] });
  if (admin.actors.some((actor) => actor.caller === caller)) return;
  const { caller: _, isActive: __, ...rights } = admin.actors.find((actor) => actor.caller === 'C') ?? {};
  await client.request(REGISTER, { role: 'l9_agent', ...rights, ...names, caller });
}

async function counts(client: Client, keyId: string): Promise<boolean> {
  const { admin } = await client.request<{
    admin: { apiKeys: { revokedAt: string | null; expiresAt: string | null }[] };
  }>(KEY, { keyId });
  return admin.apiKeys.some(
    ({ revokedAt, expiresAt }) => revokedAt === null && (expiresAt === null || Date.parse(expiresAt) > Date.now()),
  );
}

export async function revoke(config: Config, env: NodeJS.ProcessEnv, keyId: string): Promise<void> {
  const client = await asAdmin(config, env);
  await client.request(REVOKE, { keyId });
}
