// The master keys that wrap the keys of archives: rotation, missing keys, and operators.
import { randomBytes } from 'node:crypto';
import { eventually } from '../../../db/tests/support/eventually.ts';
import { addTenant } from '../../../db/tests/support/tenants.ts';
import { startTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';
import { POINTER, retrieve, sessionOf, store } from './support.ts';

const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;

describe('the key of an archive', () => {
  it('is wrapped again without touching bytes, and then opens without the former master key', async () => {
    const [former, current] = [key('k1'), key('k2')];
    const gateway = await startTestGateway({ embedder: standIn, env: { ARCHIVE_KEY: former } });
    const { home } = gateway;
    const kept = { ...home, drop: async () => {} };
    gateway.home.drop = async () => {};
    const { pointer } = await store(gateway, 'C', sessionOf('hinge'));
    await gateway.close();

    const rotating = await startTestGateway({
      embedder: standIn,
      home: kept,
      env: { ARCHIVE_KEY: `${current},${former}` },
    });
    const again = await store(rotating, 'C', sessionOf('hinge'));
    expect(again, 'a session is known again by each key').toMatchObject({ status: 'skipped_dedupe', pointer });
    expect(await rotating.tool('C', 'rotate_archive_keys')).toMatchObject({ isError: true });
    const keys = [{ key_id: 'k2', archives: 1 }];
    expect(await rotating.call('L', 'rotate_archive_keys')).toStrictEqual({ rotated: 1, failed: 0, keys, next: null });
    expect(await rotating.call('L', 'rotate_archive_keys')).toStrictEqual({ rotated: 0, failed: 0, keys, next: null });
    await rotating.close();

    const alone = await startTestGateway({ embedder: standIn, home: kept, env: { ARCHIVE_KEY: current } });
    expect((await retrieve(alone, 'C', pointer)).result.session_data.session_id).toBe('session-hinge');
    await alone.close();
  });

  it('is refused at the start if its master key is malformed, with the command that makes one', async () => {
    for (const name of ['ARCHIVE_KEY', 'LUMERA_MEMORY_KEY']) {
      const start = startTestGateway({ embedder: standIn, env: { [name]: 'k1:c2hvcnQ=' } });
      await expect(start).rejects.toThrow(
        new RegExp(`^${name}: must be 32 bytes in base64; \`echo "k1:\\$\\(openssl rand -base64 32\\)"\` makes one$`),
      );
    }
  });

  it('is wrapped again in all tenants by an operator, who also verifies the archives', async () => {
    const [former, current] = [key('k1'), key('k2')];
    const gateway = await startTestGateway({ embedder: standIn, env: { ARCHIVE_KEY: former } });
    const { home } = gateway;
    await store(gateway, 'C', sessionOf('latch'));
    const claims = await addTenant(gateway, 'second-tenant');
    const tenant_id = claims['jwt.claims.tenant_id'];
    const token = async (caller: string) => ({ token: await gateway.token({ caller, tenantId: tenant_id }) });
    const STORE = `mutation ($session: JSON!) {
      storeSessionToCascade(input: { session: $session, projectId: "l9" }) { pointer }
    }`;
    // The gateway reads the list of callers again when it is told of a change.
    await eventually(async () => {
      const { data } = await gateway.graphql(await token('C'), STORE, { session: sessionOf('bracket') });
      return POINTER.test(data?.storeSessionToCascade.pointer);
    });
    await gateway.asOwner("select register_actor('ops', role => 'l9_platform_admin', readable_scopes => '{*}')");
    await gateway.instance.close();

    const env = { ARCHIVE_KEY: `${current},${former}` };
    const rotating = await startTestGateway({ embedder: standIn, home, env });
    const ROTATE = 'mutation { rotateArchiveKeys(input: {}) { rotated failed keys { keyId archives } next } }';
    const rotate = async (caller: string) => (await rotating.query(caller, ROTATE)).rotateArchiveKeys;
    const whole = { failed: 0, next: null };
    expect(await rotate('L'), 'of its own tenant only').toStrictEqual({
      ...whole,
      rotated: 1,
      keys: [{ keyId: 'k2', archives: 1 }],
    });
    expect(await rotate('ops')).toStrictEqual({ ...whole, rotated: 1, keys: [{ keyId: 'k2', archives: 2 }] });
    const VERIFY = 'mutation { verifyArchives(input: {}) { verified problems { pointer problem } } }';
    expect((await rotating.query('L', VERIFY)).verifyArchives).toStrictEqual({ verified: 1, problems: [] });
    expect((await rotating.query('ops', VERIFY)).verifyArchives).toStrictEqual({ verified: 2, problems: [] });
    const rows = await rotating.asSuperuser(
      "select caller, tenant_id::text from audit_log where operation = 'UPDATE' and details ->> 'was_key_id' = 'k1' order by caller",
    );
    expect(rows).toMatchObject([{ caller: 'L' }, { caller: 'ops', tenant_id }]);
    await rotating.close();
  });
});
