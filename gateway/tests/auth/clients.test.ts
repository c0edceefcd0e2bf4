// Clients that have the key of C and say in the header X-L9-Client what they are.
import { eventually } from '../../../db/tests/support/eventually.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { useTestGateway } from '../support/gateway.ts';
import { standIn } from '../support/stand-in.ts';

describeOnEmbedded('a client with a name and the key of C', () => {
  const gateway = useTestGateway({ embedder: standIn });
  beforeAll(async () => {
    await gateway.save('L', 'The vault is in Basel.', { scope: 'l-private' });
    await gateway.sql(
      'L',
      "select public.register_actor('Keeper', readable_scopes => '{*}', writable_scopes => '{*}', can_clean_up => true)",
    );
    await gateway.sql('L', 'select public.set_register_unknown_clients(true)');
  });

  let count = 0;
  const call = async (client: string | null, name: string, args: object = {}, key = gateway.apiKey('C')) => {
    const response = await fetch(`${gateway.instance.url}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        ...(client !== null && { 'x-l9-client': Buffer.from(client).toString('latin1') }),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: args } }),
    });
    // biome-ignore lint/suspicious/noExplicitAny: results differ by tool
    const body = (await response.json()) as any;
    return { status: response.status, result: body.result?.structuredContent, text: JSON.stringify(body) };
  };
  const save = async (client: string | null, args: object = {}, key?: string) => {
    const memory = { content: `memory ${count++} of a client`, scope: 'global', ...args };
    return call(client, 'save_memory', memory, key);
  };
  const creatorOf = async (client: string | null, key?: string) =>
    (await save(client, {}, key)).result?.memory.metadata.creator as string;

  it('writes under its own name, and reads what C reads', async () => {
    expect(await creatorOf('Visual Studio Code')).toBe('visual-studio-code');
    expect(await creatorOf(null)).toBe('Cursor-IDE');
    const { text } = await call('Visual Studio Code', 'search_memory', { query: 'vault in Basel', mode: 'lexical' });
    expect(text).not.toContain('Basel');
    const refused = await save('Visual Studio Code', { scope: 'l-private', project_id: 'l9' });
    expect(refused.text).toContain('L9SCP');
    const ofC = await save(null);
    const changed = await call('Visual Studio Code', 'delete_memory', { packet_id: ofC.result.memory.packet_id });
    expect(changed.text).toContain('L9OWN');
  });

  it.each([
    'L',
    'l',
    'C',
    'L-CTO',
    'l9-kernel',
    'me',
    'Keeper',
    'job',
    'ＬＣＴＯ',
    'L\u0085',
    'x'.repeat(10_240),
  ])('is C with the name %.20s', async (name) => {
    expect(await creatorOf(name)).toBe('Cursor-IDE');
    const { text } = await call(name, 'search_memory', { query: 'vault in Basel', mode: 'lexical' });
    expect(text).not.toContain('Basel');
    expect((await save(name, { scope: 'l-private', project_id: 'l9' })).text).toContain('L9SCP');
  });

  it('changes nothing of who L is', async () => {
    expect(await creatorOf('zed', gateway.apiKey('L'))).toBe('L-CTO');
  });

  it('is C again once an administrator gave the actor of this name rights of its own', async () => {
    expect(await creatorOf('Windmill')).toBe('windmill');
    await gateway.sql(
      'L',
      "select public.register_actor('windmill', readable_scopes => '{*}', writable_scopes => '{*}')",
    );
    await eventually(async () => (await creatorOf('Windmill')) === 'Cursor-IDE');
    expect((await save('Windmill', { scope: 'l-private', project_id: 'l9' })).text).toContain('L9SCP');
  });

  it('is refused while the actor of this name is deactivated', async () => {
    expect(await creatorOf('Lathe')).toBe('lathe');
    await gateway.sql('L', "select public.deactivate_actor('lathe')");
    await eventually(async () => (await save('Lathe')).status === 401);
    await gateway.sql('L', "select public.reactivate_actor('lathe')");
    await eventually(async () => (await save('Lathe')).status === 200);
  });

  it('stays within the limits of the key that it has', async () => {
    const [{ api_key: key }] = await gateway.sql(
      'L',
      "select api_key from public.create_api_key('limited', 'C', scopes => '{global}', projects => '{x}', tool_sets => '{core}')",
    );
    await eventually(async () => (await creatorOf('Loom', key)) === 'loom');
    expect((await save('Loom', { scope: 'developer', project_id: 'l9' }, key)).text).toContain('L9SCP');
    await gateway.sql('L', "select public.revoke_api_key(key_id) from public.api_keys where name = 'limited'");
    await eventually(async () => (await save('Loom', {}, key)).status === 401);
  });
});
