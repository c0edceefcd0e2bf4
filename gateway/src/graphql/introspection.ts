// What PostGraphile reads of the catalogue when the schema is built.

const NAMESPACES = `from pg_catalog.pg_namespace
    where nspname <> 'information_schema'`;

/**
 * Narrows PostGraphile's query of the catalogue, which reads all schemas with the bodies of their functions, to the schemas of
 * which GraphQL shows something. The answer is a third of the whole. Other queries stay as they are.
 */
export const narrowIntrospection = (text: string) =>
  text.replace(NAMESPACES, `${NAMESPACES} and nspname in ('public', 'extensions', 'pg_catalog')`);
