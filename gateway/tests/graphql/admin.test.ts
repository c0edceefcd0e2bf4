// The field `admin`, which groups what only administrators do.
import { Kind, type OperationDefinitionNode, parse } from 'postgraphile/graphql';
import { countCalls, fragmentsOf } from '../../src/graphql/plugins/selections.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describe('the field admin', () => {
  const gateway = useTestGateway({ embedder: standIn });
  const denials = () =>
    gateway.sql(
      'L',
      `select details ->> 'path' as path, sqlstate from public.audit_log
       where caller = 'C' and operation = 'DENIED' order by audit_id`,
    );

  it('runs its fields one after another, and goes on after one that fails', async () => {
    const { data, errors } = await gateway.graphql(
      'L',
      `mutation { admin {
        registerScope(scope: "drawings") { scope }
        never: registerActor(caller: "figma", readableScopes: ["nowhere"]) { caller }
        registerActor(caller: "figma", readableScopes: ["drawings"], writableScopes: ["drawings"]) { readableScopes }
        deactivateActor(caller: "figma") { isActive }
        reactivateActor(caller: "figma") { isActive }
      } }`,
    );
    expect(errors).toMatchObject([{ path: ['admin', 'never'] }]);
    expect(data.admin).toStrictEqual({
      registerScope: { scope: 'drawings' },
      never: null,
      registerActor: { readableScopes: ['drawings'] },
      deactivateActor: { isActive: false },
      reactivateActor: { isActive: true },
    });
    const { admin } = await gateway.query('L', '{ admin { actors { caller isActive } } }');
    expect(admin.actors).toContainEqual({ caller: 'figma', isActive: true });
  });

  it('refuses agents before anything in it runs, and audits once what was asked for', async () => {
    const before = (await denials()).length;
    for (const [request, path] of [
      ['mutation { admin { createOrg(name: "Never made") { orgId } } }', 'admin.createOrg'],
      [
        'mutation { a: admin { registerScope(scope: "x") { scope } b: registerScope(scope: "y") { scope } } }',
        'a.registerScope, b',
      ],
      [
        '{ admin { ...Settings } } fragment Settings on AdminQuery { searchSettings { tenantId } }',
        'admin.searchSettings',
      ],
      ['{ admin { explainAccess(caller: "C") { isVisible } } }', 'admin.explainAccess'],
    ] as const) {
      const { data, errors } = await gateway.graphql('C', request);
      expect(Object.values(data)).toStrictEqual([null]);
      expect(errors, request).toMatchObject([{ extensions: { code: 'SCOPE_DENIED', sqlstate: 'L9SCP' } }]);
      expect((await denials()).at(-1), request).toStrictEqual({ path, sqlstate: 'L9SCP' });
    }
    expect(await denials()).toHaveLength(before + 4);
    const made =
      "select from public.orgs where name = 'Never made' union all select from public.scopes where scope in ('x', 'y')";
    expect(await gateway.asSuperuser(made)).toStrictEqual([]);
  });

  it('leaves what stands beside it to agents', async () => {
    const { data, errors } = await gateway.graphql('C', '{ admin { actors { caller } } memories { totalCount } }');
    expect([data, errors?.length]).toStrictEqual([{ admin: null, memories: { totalCount: 0 } }, 1]);
  });

  it('counts as the fields in it', async () => {
    const calls = (text: string) => {
      const document = parse(text);
      const [operation] = document.definitions.filter(({ kind }) => kind === Kind.OPERATION_DEFINITION);
      const fragments = fragmentsOf(document);
      return countCalls((operation as OperationDefinitionNode).selectionSet, (name) => fragments.get(name));
    };
    expect(calls('{ memories { totalCount } }')).toBe(1);
    expect(calls('{ admin { a b { c d } } memories { totalCount } }')).toBe(3);
    expect(calls('{ x: admin { ...Two } y: admin { ... { ...Two } } } fragment Two on AdminQuery { a b }')).toBe(4);
    const heads = Array.from({ length: 101 }, (_, n) => `a${n}: auditHead { hash }`).join(' ');
    const { errors } = await gateway.graphql('L', `{ admin { ${heads} } }`);
    expect(errors).toMatchObject([
      { message: 'query: at most 100 fields at the top', extensions: { code: 'LIMIT_EXCEEDED' } },
    ]);
  });
});
