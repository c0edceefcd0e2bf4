// What GraphQL needs to know about a schema besides its shape. The shape itself comes from zod.
import { z } from 'zod';

/** A row of a table that a value names, as an extra field of the object with that value. */
export interface Relation {
  /** The table, by the name of its resource in PostGraphile, such as memory. */
  resource: string;
  /** The key column of the table. */
  column: string;
  /** The key of the object that holds the value; the name of the column by default. */
  key?: string;
  description?: string;
}

export interface GraphqlType {
  /** The name of the GraphQL type, also of a scalar such as UUID. Without it: a scalar by the JSON type, or JSON for objects. */
  name?: string;
  description?: string;
  /** The object is an argument, or part of one. */
  isInput?: boolean;
  /** For an enum: what each value means. */
  values?: Readonly<Record<string, string>>;
  /**
   * The object is a row of this table, so GraphQL shows the type of the table. `columns` names the columns of keys that
   * are called differently; null for a key whose value is not that of a column.
   */
  row?: Relation & { columns?: Readonly<Record<string, string | null>> };
  /** Rows that the object refers to, by field name. */
  relations?: Readonly<Record<string, Relation>>;
}

export const graphqlTypes = z.registry<GraphqlType>();

/** A string that GraphQL types as UUID. MCP clients see a plain string. */
export const uuidText = () => z.string().register(graphqlTypes, { name: 'UUID' });
/** A string that GraphQL types as Datetime. */
export const timeText = () => z.string().register(graphqlTypes, { name: 'Datetime' });

export const memoryRelation: Relation = {
  resource: 'memory',
  column: 'packet_id',
  description: 'The memory itself, with its relations.',
};

export const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
export const upperCamelCase = (name: string) => camelCase(`_${name}`);
