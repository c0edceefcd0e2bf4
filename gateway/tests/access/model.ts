// The access rules as plain values and functions, which the policies, triggers and functions of the database have to match.
// They are written from the rules, not from the SQL, and kept simple, so that they can be read as the rules.
export * from './model/archives.ts';
export * from './model/changes.ts';
export * from './model/finding.ts';
export * from './model/identity.ts';
export * from './model/kinds.ts';
export type { Row } from './model/knowledge.ts';
export * from './model/memories.ts';
export * from './model/reviews.ts';
export * from './model/storing.ts';
