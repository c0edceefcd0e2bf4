import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { buildClientSchema, getIntrospectionQuery, lexicographicSortSchema, printSchema } from 'postgraphile/graphql';
import { type House, openHouse } from '../support/house.ts';
import { standIn } from '../support/stand-in.ts';

const file = join(import.meta.dirname, '..', '..', 'schema.graphql');

describe('the GraphQL schema', () => {
  let house: House;
  let printed: string;
  before(async () => {
    house = await openHouse({ embedder: standIn });
    const { data } = await house.graphql('C', getIntrospectionQuery());
    printed = `${printSchema(lexicographicSortSchema(buildClientSchema(data)))}\n`;
  });
  after(() => house.close());

  it('is the one in gateway/schema.graphql, so that a change of grants shows in a diff', () => {
    assert.equal(printed, readFileSync(file, 'utf8'), 'run `npm run generate`');
  });

  it('never sends a vector out, nor the list of what waits for one', () => {
    assert.ok(!/\bvector\b/i.test(printed.replace(/"""[\s\S]*?"""/g, '')));
    assert.ok(!/pendingEmbedding|idempotency_?keys?\b.*Connection/i.test(printed));
  });

  it('writes by the operations, the functions of the world model, and those of administrators, only', () => {
    const mutations = /^type Mutation \{([\s\S]*?)^\}/m
      .exec(printed)?.[1]
      ?.match(/^ {2}(\w+)\(/gm)
      ?.map((line) => line.trim().slice(0, -1));
    assert.deepEqual(mutations, [
      'addAlias',
      'assertFact',
      'bindLogin',
      'createApiKey',
      'createOrg',
      'createTenant',
      'createUser',
      'deactivateActor',
      'deactivateOrg',
      'deactivateScope',
      'deactivateTenant',
      'deactivateUser',
      'deleteExpiredMemories',
      'deleteMemory',
      'detachAuditPartition',
      'dropAccessPartition',
      'eraseMemory',
      'eraseSubject',
      'exportAudit',
      'reactivateActor',
      'reactivateOrg',
      'reactivateScope',
      'reactivateTenant',
      'reactivateUser',
      'recordFeedback',
      'reflect',
      'reflectOnTask',
      'refreshMemoryViews',
      'registerActor',
      'registerPredicate',
      'registerScope',
      'relate',
      'restoreWorld',
      'retractFact',
      'revokeApiKey',
      'saveMemory',
      'setExtractionSettings',
      'setQueryTextAudit',
      'setSearchSettings',
      'snapshotWorld',
      'summarize',
      'updateMemory',
      'updateWorldModel',
    ]);
  });

  it('has no way to take on other claims than those of the token', () => {
    assert.ok(!/\bactAs\b/.test(printed));
  });

  it('carries the comments of the database', () => {
    assert.match(printed, /What decides who sees it: developer, l-private, global/);
  });
});
