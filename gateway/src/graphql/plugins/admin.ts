// The fields `admin` of Query and Mutation, which group what only administrators do, so that agents need not look past it.
// PostGraphile makes one schema for the roles of all callers; grants and policies decide below this group, too.
import { sideEffect } from 'postgraphile/grafast';
import { pgSmartTags } from 'postgraphile/utils';
import { KnownError } from '../../base/errors.ts';
import { identityOf } from '../context.ts';
import { fieldsOf, isFunction } from './schema.ts';

export const ADMIN_QUERY = 'AdminQuery';
export const ADMIN_MUTATION = 'AdminMutation';

/** Tables of settings, callers, rules and operation. Their rows are few, so their lists have no cursors. */
const LISTS: ReadonlySet<string> = new Set([
  'actors',
  'api_keys',
  'archive_settings',
  'audit_archives',
  'audit_seals',
  'embedding_models',
  'extraction_settings',
  'extraction_usage',
  'fact_predicates',
  'find_settings',
  'memory_tombstones',
  'orgs',
  'review_rules',
  'review_settings',
  'search_settings',
  'secret_exceptions',
  'secret_patterns',
  'secret_settings',
  'storage_prices',
  'tenants',
  'users',
  'world_model_settings',
]);
const CONNECTIONS: ReadonlySet<string> = new Set(['audit_log']);

const QUERY_FUNCTIONS: ReadonlySet<string> = new Set([
  'audit_head',
  'explain_access',
  'health',
  'preview_find',
  'scan_for_secrets',
  'verify_audit',
]);

/** They take their arguments and return their result as queries do, without an input and a payload of their own. */
const MUTATION_FUNCTIONS: ReadonlySet<string> = new Set([
  'bind_login',
  'create_api_key',
  'create_org',
  'create_tenant',
  'create_user',
  'deactivate_actor',
  'deactivate_org',
  'deactivate_scope',
  'deactivate_secret_exception',
  'deactivate_secret_pattern',
  'deactivate_tenant',
  'deactivate_user',
  'delete_review_rule',
  'detach_audit_partition',
  'drop_access_partition',
  'drop_field_index',
  'erase_memory',
  'erase_subject',
  'export_audit',
  'import_memories',
  'reactivate_actor',
  'reactivate_org',
  'reactivate_scope',
  'reactivate_tenant',
  'reactivate_user',
  'register_actor',
  'register_field_index',
  'register_memory_kind',
  'register_predicate',
  'register_scope',
  'register_secret_exception',
  'register_secret_pattern',
  'revoke_api_key',
  'set_archive_settings',
  'set_extraction_settings',
  'set_find_settings',
  'set_generated_review',
  'set_query_text_audit',
  'set_register_unknown_clients',
  'set_review_rule',
  'set_review_settings',
  'set_search_settings',
  'set_secret_settings',
  'set_storage_price',
  'set_tenant_limits',
  'set_tenant_route',
  'set_world_model_settings',
]);

const adminTags = pgSmartTags(
  [
    {
      kind: 'class',
      match: (pgClass) => pgClass.getNamespace()?.nspname === 'public' && LISTS.has(pgClass.relname),
      tags: { behavior: '-query:resource:connection +query:resource:list' },
    },
    {
      kind: 'procedure',
      match: (procedure) => procedure.getNamespace()?.nspname === 'public' && MUTATION_FUNCTIONS.has(procedure.proname),
      tags: { behavior: '-mutationField +queryField' },
    },
  ],
  null,
  { name: 'AdminTagsPlugin' },
);

/** Runs before what is inside the group, which does not run if this throws. */
const requireAdministrator = () =>
  sideEffect(identityOf(), ({ role }) => {
    if (role === 'l9_agent')
      throw new KnownError('L9SCP', 'admin: permission denied for your role, which administers nothing');
    return true;
  });

type Fields = GraphileBuild.GrafastFieldConfigMap;
/** The fields that the root types hand over to the types of `admin`. */
interface Taken {
  query: Fields;
  mutation: Fields;
}
const takenOf = new WeakMap<object, Taken>();

/** The names of the fields that belong to `admin`. */
function namesIn(build: GraphileBuild.Build): Record<keyof Taken, Set<string>> {
  const { inflection } = build;
  const names = { query: new Set<string>(), mutation: new Set<string>() };
  for (const resource of Object.values(build.pgResources)) {
    const name = resource.extensions?.pg?.name ?? '';
    if (isFunction(resource)) {
      if (QUERY_FUNCTIONS.has(name)) names.query.add(inflection.customQueryField({ resource }));
      if (MUTATION_FUNCTIONS.has(name)) names.mutation.add(inflection.customQueryField({ resource }));
    } else {
      if (LISTS.has(name)) names.query.add(inflection.allRowsList(resource));
      if (CONNECTIONS.has(name)) names.query.add(inflection.allRowsConnection(resource));
    }
  }
  return names;
}

const adminGroup: GraphileConfig.Plugin = {
  name: 'AdminPlugin',
  version: '1.0.0',
  schema: {
    hooks: {
      init(_, build) {
        const taken: Taken = { query: {}, mutation: {} };
        takenOf.set(build, taken);
        const register = (name: string, kind: keyof Taken, description: string) => {
          const fields = () => {
            for (const root of ['Query', 'Mutation']) fieldsOf(build.getTypeByName(root));
            return taken[kind];
          };
          build.registerObjectType(name, {}, () => ({ description, fields }), 'AdminPlugin');
        };
        register(ADMIN_QUERY, 'query', 'What only administrators read.');
        register(ADMIN_MUTATION, 'mutation', 'What only administrators change. Fields run one after another.');
        return _;
      },
      GraphQLObjectType_fields(fields, build, { scope: { isRootQuery, isRootMutation } }) {
        if (!isRootQuery && !isRootMutation) return fields;
        const taken = takenOf.get(build)!;
        const names = namesIn(build);
        const rest: Fields = {};
        for (const [name, field] of Object.entries(fields)) {
          if (names.mutation.has(name)) taken.mutation[name] = field;
          else if (names.query.has(name)) taken.query[name] = field;
          else rest[name] = field;
        }
        rest.admin = {
          type: build.getOutputTypeByName(isRootQuery ? ADMIN_QUERY : ADMIN_MUTATION),
          description: `What only administrators ${isRootQuery ? 'read' : 'change'}: settings, callers, keys, rules, prices, the audit log. Agents get SCOPE_DENIED.`,
          plan: requireAdministrator,
        };
        return rest;
      },
    },
  },
};

export const adminPreset: GraphileConfig.Preset = { plugins: [adminTags, adminGroup] };
