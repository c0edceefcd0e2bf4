import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildClientSchema, getIntrospectionQuery, lexicographicSortSchema, printSchema } from 'postgraphile/graphql';
import { camelCase } from '../../src/operations/graphql-types.ts';
import { operations } from '../../src/operations/index.ts';
import { startTestGateway, type TestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

const file = join(import.meta.dirname, '..', '..', 'schema.graphql');

describe('the GraphQL schema', () => {
  let gateway: TestGateway;
  let printed: string;
  beforeAll(async () => {
    gateway = await startTestGateway({ embedder: standIn });
    const { data } = await gateway.graphql('C', getIntrospectionQuery());
    printed = `${printSchema(lexicographicSortSchema(buildClientSchema(data)))}\n`;
  });
  afterAll(() => gateway.close());

  it('equals gateway/schema.graphql, so that a change of grants shows in a diff', () => {
    expect(printed, 'run `npm run generate`').toBe(readFileSync(file, 'utf8'));
  });

  it('has no field for vectors or for the queue of memories that wait for one', () => {
    expect(printed.replace(/"""[\s\S]*?"""/g, '')).not.toMatch(/\bvector\b/i);
    expect(printed).not.toMatch(/pendingEmbedding|idempotency_?keys?\b.*Connection/i);
  });

  const fieldsOf = (type: string) =>
    new RegExp(`^type ${type}.* {([\\s\\S]*?)^}`, 'm')
      .exec(printed.replace(/"""[\s\S]*?"""/g, ''))?.[1]
      ?.match(/^ {2}(\w+)(?=[(:])/gm)
      ?.map((line) => line.trim());

  it('has a mutation for each operation and each function of agents, and no others', () => {
    // Besides the operations, these functions of the database.
    const functions = ['addAlias', 'reflectOnTask', 'relate', 'restoreWorld', 'retractFact', 'snapshotWorld'];
    const writing = operations.filter(({ isReadOnly }) => !isReadOnly).map(({ name }) => camelCase(name));
    expect(fieldsOf('Mutation')).toStrictEqual(['admin', ...functions, ...writing].sort());
  });

  it('has each function of administrators in the field admin, and no others', () => {
    expect(fieldsOf('AdminMutation')).toStrictEqual([
      'bindLogin',
      'createApiKey',
      'createOrg',
      'createTenant',
      'createUser',
      'deactivateActor',
      'deactivateOrg',
      'deactivateScope',
      'deactivateSecretException',
      'deactivateSecretPattern',
      'deactivateTenant',
      'deactivateUser',
      'deleteReviewRule',
      'detachAuditPartition',
      'dropAccessPartition',
      'dropFieldIndex',
      'eraseMemory',
      'eraseSubject',
      'exportAudit',
      'importMemories',
      'reactivateActor',
      'reactivateOrg',
      'reactivateScope',
      'reactivateTenant',
      'reactivateUser',
      'refreshMemoryViews',
      'registerActor',
      'registerFieldIndex',
      'registerMemoryKind',
      'registerPredicate',
      'registerScope',
      'registerSecretException',
      'registerSecretPattern',
      'revokeApiKey',
      'setArchiveSettings',
      'setExtractionSettings',
      'setFindSettings',
      'setGeneratedReview',
      'setQueryTextAudit',
      'setRegisterUnknownClients',
      'setReviewRule',
      'setReviewSettings',
      'setSearchSettings',
      'setSecretSettings',
      'setStoragePrice',
      'setTenantLimits',
      'setTenantRoute',
      'setWorldModelSettings',
    ]);
  });

  it('is small enough to take in', () => {
    const types = printed.match(/^(?:type|input|enum|interface|union|scalar) /gm)!;
    expect(printed.split('\n').length).toBeLessThan(8_300);
    expect(types.length).toBeLessThanOrEqual(310);
    expect(fieldsOf('Query')!.length + fieldsOf('Mutation')!.length).toBeLessThanOrEqual(97);
  });

  it('says first where to start', () => {
    for (const type of ['Query', 'Mutation'])
      expect(printed).toMatch(
        new RegExp(`"""\\n[^"]*searchMemory[^"]*saveMemory[^"]*memories[^"]*"""\\ntype ${type} `),
      );
  });

  it('offers no way to use other claims than those of the token', () => {
    expect(printed).not.toMatch(/\bactAs\b/);
  });

  it('carries the comments of the database as descriptions', () => {
    expect(printed).toMatch(/Decides who may read the memory: developer, l-private, global/);
  });
});
