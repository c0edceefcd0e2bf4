// What plugins ask of the schema and of the resources behind it.
import type { PgResource, PgResourceParameter } from 'postgraphile/@dataplan/pg';
import { isObjectType } from 'postgraphile/graphql';

// biome-ignore lint/suspicious/noExplicitAny: PostGraphile's own type of a function
type PgFunction = PgResource<any, any, any, readonly PgResourceParameter[], any>;

export const isFunction = (resource: PgResource): resource is PgFunction => resource.parameters !== undefined;

/** The fields of an object type, and none of any other. */
export const fieldsOf = (type: unknown) => (isObjectType(type) ? type.getFields() : {});
