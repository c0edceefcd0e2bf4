// The views of the built-in kinds, such as decisions. Each row is a memory, with its fields as columns.
import { pgSmartTags } from 'postgraphile/utils';

export const kindViews: ReadonlySet<string> = new Set([
  'documents',
  'sections',
  'runbooks',
  'changes',
  'issues',
  'decisions',
  'todos',
  'release_notes',
  'ddl_migrations',
  'pr_contexts',
]);

interface Class {
  relname: string;
  relkind: string;
  getNamespace(): { nspname: string } | undefined;
}
interface Attribute {
  getClass(): Class | undefined;
  getType(): { typname: string } | undefined;
}

const isKindView = (pgClass: Class | undefined) =>
  pgClass?.relkind === 'v' && pgClass.getNamespace()?.nspname === 'public' && kindViews.has(pgClass.relname);
const isKindColumn = (attribute: Attribute) => isKindView(attribute.getClass());
const typeOf = (attribute: Attribute) => attribute.getType()?.typname ?? '';
/** Types without an order of their own, or whose equality nobody asks for. */
const unsearched = new Set(['jsonb', '_text']);
const always = new Set(['packet_id', 'scope', 'tags', 'created_at', 'updated_at']);

const viewTags = {
  primaryKey: 'packet_id',
  foreignKey: '(packet_id) references public.packet_store (packet_id)|@fieldName memory|@foreignBehavior -*',
};

export const kindViewsPlugin = pgSmartTags(
  [
    { kind: 'class', match: (pgClass) => isKindView(pgClass), tags: viewTags },
    {
      kind: 'attribute',
      match: (attribute) => isKindColumn(attribute) && !unsearched.has(typeOf(attribute)),
      tags: { behavior: '+attribute:filterBy +attribute:orderBy' },
    },
    {
      kind: 'attribute',
      match: (attribute) => isKindColumn(attribute) && always.has(attribute.attname),
      tags: { notNull: true },
    },
  ],
  null,
  { name: 'KindViewsPlugin' },
);
