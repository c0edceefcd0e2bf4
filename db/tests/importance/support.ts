import type { TestGateway } from '../../../gateway/tests/support/gateway.ts';
import { eventually } from '../support/eventually.ts';
import { named } from '../support/named.ts';

/** Rolls up until nothing is left; on a server that others use too, transactions of theirs may hold it up for a while. */
export async function rollUp(gateway: TestGateway, rows = 10_000): Promise<void> {
  const { workerPool } = gateway.instance.database;
  await eventually(async () => {
    await workerPool.query('select facts.roll_up_accesses($1)', [rows]);
    const { rows: answer } = await workerPool.query('select waiting from importance.access_backlog()');
    return Number(answer[0].waiting) === 0;
  });
}

export async function save(gateway: TestGateway, caller: string, content: string, args: object = {}): Promise<string> {
  const given = { content, project_id: 'l9', ...args };
  const [{ id }] = await gateway.sql(
    caller,
    `select (memory).packet_id as id from public.save_memory(${named(given)})`,
    Object.values(given),
  );
  return id;
}

export interface Hit {
  packet_id: string;
  access_id: string;
  score: number;
  importance: number;
  content: string;
}

/** The hits of a search by words. */
export async function search(gateway: TestGateway, caller: string, query: string, claims = {}, k = 10): Promise<Hit[]> {
  const [{ hits }] = await gateway.sql(
    caller,
    `select to_jsonb((public.search_memory($1, k => $2, mode => 'lexical')).hits) as hits`,
    [query, k],
    claims,
  );
  return hits;
}

export const vote = (
  gateway: TestGateway,
  caller: string,
  access: string,
  useful: boolean,
  reason?: string,
  claims = {},
) => gateway.sql(caller, 'select * from public.record_feedback($1, $2, $3)', [access, useful, reason], claims);
