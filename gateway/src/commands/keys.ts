// `l9-memory keys`: the keys by which editors and applications are known, as an admin.
import { checkIds, Refused } from './support/client.ts';
import { answered, jsonLines, minuteOf, type OutputOptions, preview, table } from './support/output.ts';

const KEY = 'keyId caller name defaultProject projects scopes toolSets createdAt createdBy expiresAt revokedAt';
const LIST = `query { admin { apiKeys(first: 1000) { ${KEY} } } }`;
const CREATE = `mutation ($caller: String!, $name: String!, $defaultProject: String, $projects: [String], $scopes: [String],
  $toolSets: [String], $expiresAt: Datetime) {
  admin {
    createApiKey(caller: $caller, name: $name, defaultProject: $defaultProject, projects: $projects, scopes: $scopes,
      toolSets: $toolSets, expiresAt: $expiresAt) { apiKey keyId caller name expiresAt }
  }
}`;
const REVOKE = 'mutation ($keyId: UUID!) { admin { revokeApiKey(keyId: $keyId) { keyId caller name } } }';

interface Key {
  keyId: string;
  caller: string;
  name: string;
  defaultProject: string | null;
  projects: string[] | null;
  scopes: string[] | null;
  toolSets: string[] | null;
  createdAt: string;
  expiresAt: string | null;
  revokedAt: string | null;
}

/** Prints the keys, without their secrets, which the database does not know. */
export const list = (env: NodeJS.ProcessEnv, options: OutputOptions & { all?: boolean }) =>
  answered(env, options, async (client) => {
    const { admin } = await client.request<{ admin: { apiKeys: Key[] } }>(LIST);
    const keys = admin.apiKeys.filter(({ revokedAt }) => options.all || revokedAt === null);
    if (options.json) return jsonLines(keys);
    if (keys.length === 0) return 'There are no keys in the database; those of credentials.json are not listed.\n';
    return table(
      ['id', 'of', 'name', 'made', 'limits'],
      keys.map((key) => [key.keyId, key.caller, preview(key.name, 40), minuteOf(key.createdAt), limitsOf(key)]),
    );
  });

const limitsOf = (key: Key) =>
  [
    key.revokedAt && `revoked ${minuteOf(key.revokedAt)}`,
    key.expiresAt && `until ${minuteOf(key.expiresAt)}`,
    key.defaultProject && `project ${key.defaultProject}`,
    key.projects && `projects ${key.projects.join(', ')}`,
    key.scopes && `scopes ${key.scopes.join(', ')}`,
    key.toolSets && `tools ${key.toolSets.join(', ')}`,
  ]
    .filter(Boolean)
    .join('; ');

export interface CreateOptions extends OutputOptions {
  of: string;
  project?: string;
  projects?: string[];
  scopes?: string[];
  tools?: string[];
  expires?: string;
}

/** Makes a key and prints it. It is shown only this once. */
export const create = (env: NodeJS.ProcessEnv, name: string, options: CreateOptions) =>
  answered(env, options, async (client) => {
    const { of: caller, project: defaultProject, projects, scopes, tools: toolSets, expires: expiresAt } = options;
    const variables = { caller, name, defaultProject, projects, scopes, toolSets, expiresAt };
    const { admin } = await client.request<{ admin: { createApiKey: { apiKey: string; keyId: string } } }>(
      CREATE,
      variables,
    );
    const { createApiKey: made } = admin;
    if (options.json) return jsonLines([made]);
    process.stderr.write(`This key of ${caller} is shown only now; \`l9-memory keys revoke ${made.keyId}\` ends it.\n`);
    return `${made.apiKey}\n`;
  });

/** Revokes keys, which are refused from then on. */
export const revoke = (env: NodeJS.ProcessEnv, ids: string[], options: OutputOptions) =>
  answered(env, options, async (client) => {
    checkIds(...ids);
    const lines: string[] = [];
    for (const keyId of ids) {
      const { admin } = await client.request<{ admin: { revokeApiKey: Key | null } }>(REVOKE, { keyId });
      if (!admin.revokeApiKey) throw new Refused(`${keyId}: there is no such key`);
      lines.push(options.json ? jsonLines([admin.revokeApiKey]) : `revoked ${keyId}\n`);
    }
    return lines.join('');
  });
