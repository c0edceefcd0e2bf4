// The client in a real browser, as a bundler builds it in, on a page of another origin than the server.
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { launch } from '../../../console/tests/support/browser.ts';
import { describeInBrowser } from '../../../console/tests/support/in-browser.ts';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { cheapEmbedder } from '../../../gateway/tests/access/attacker.ts';
import { useTestGateway } from '../../../gateway/tests/support/gateway.ts';

describeOnEmbedded('the TypeScript client', () => {
  describeInBrowser('on a page', () => {
    const gateway = useTestGateway({ embedder: cheapEmbedder });
    // Its schema is built at the first request, for which a client would not wait on a busy machine.
    beforeAll(() => gateway.query('C', '{ __typename }'));

    it('saves and finds, and needs no module of Node', async () => {
      const bundle = await rolldown({
        input: join(import.meta.dirname, '..', 'src', 'index.ts'),
        platform: 'browser',
        logLevel: 'silent',
      });
      const { output } = await bundle.generate({ format: 'esm' });
      expect(
        output.flatMap((part) => (part.type === 'chunk' ? [...part.imports, ...part.dynamicImports] : [])),
      ).toStrictEqual([]);
      const options = { url: gateway.instance.url, key: gateway.apiKey('C'), projectId: 'page' };
      const site = createServer((request, response) => {
        const [type, body] =
          request.url === '/client.js' ? ['text/javascript', output[0].code] : ['text/html', '<!doctype html>'];
        response.setHeader('content-type', type).end(body);
      }).listen(0, 'localhost');
      await once(site, 'listening');
      const browser = await launch();
      try {
        const page = await browser.newPage();
        await page.goto(`http://localhost:${(site.address() as AddressInfo).port}/`);
        const found = await page.evaluate(`(async () => {
          const { L9Memory } = await import('/client.js');
          const memory = new L9Memory(${JSON.stringify(options)});
          await memory.save('Pages remember, too.');
          const { hits } = await memory.search('what do pages remember?');
          const refusal = await memory.get('not an id').catch(({ code, field }) => [code, field]);
          return { contents: hits.map(({ content }) => content), refusal };
        })()`);
        expect(found).toStrictEqual({ contents: ['Pages remember, too.'], refusal: ['INVALID_INPUT', 'packetId'] });
      } finally {
        await browser.close();
        site.close();
      }
    });
  });
});
