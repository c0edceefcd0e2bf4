// A handwritten alternative to a GraphQL server: express, jose and pg, with one route. It verifies the token, sets its
// claims, reads the memory under row-level security, and audits the read.
import type { AddressInfo } from 'node:net';
import express from 'express';
import { type JWTPayload, jwtVerify } from 'jose';
import pg from 'pg';
import { loadConfig } from '../../gateway/src/config/config.ts';
import { loadCredentials } from '../../gateway/src/home/credentials.ts';

const config = loadConfig(process.env);
const { jwtSecrets, jwtSecret } = loadCredentials(config);
const secret = new TextEncoder().encode(Object.values(jwtSecrets)[0] ?? jwtSecret);
const pool = new pg.Pool({ connectionString: config.databaseUrl!, max: config.poolSize });

const claims = ['role', 'jwt.claims.tenant_id', 'jwt.claims.caller', 'l9.tool_name', 'synchronous_commit'];
const setClaims = `select ${claims.map((name, n) => `set_config('${name}', $${n + 1}, true)`).join(', ')}`;
const read = `select packet_id, content, packet_type, scope, project_id, tags, "timestamp" from public.packet_store where packet_id = $1`;
const record = "select audit.audit_graphql_read($1, $2, '{}', $3)";

async function inTransaction<T>(values: string[], work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query({ name: 'claims', text: setClaims, values });
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

const app = express();
app.use(async (request, response, next) => {
  const token = request.headers.authorization!.slice('Bearer '.length);
  const { issuer, audience } = config.jwt;
  response.locals.claims = (await jwtVerify(token, secret, { issuer, audience, algorithms: ['HS256'] })).payload;
  next();
});
for (const isRecorded of [true, false]) {
  app.get(isRecorded ? '/memories/:id' : '/unrecorded/:id', async (request, response) => {
    const { tenant_id, caller } = response.locals.claims as JWTPayload & Record<string, string>;
    const { id } = request.params;
    const memory = await inTransaction(['l9_agent', tenant_id!, caller!, 'express', 'off'], async (client) => {
      const { rows } = await client.query({ name: 'read', text: read, values: [id] });
      if (isRecorded)
        await client.query({
          name: 'record',
          text: record,
          values: [null, '{"packet_store": 1}', JSON.stringify([id])],
        });
      return rows[0];
    });
    response.json({ memory });
  });
}
const server = app.listen(0, '127.0.0.1', () => {
  process.send!({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
});
process.on('SIGTERM', () => process.exit(0));
