// db/generated/triggers.md: the triggers of each table in the order in which they fire, from the catalogue of a migrated database.
import type pg from 'pg';
import { byTable, IS_OUR_SCHEMA, markdownTable, rowsOf } from './catalogue.ts';

// PostgreSQL fires them by phase (before the statement, before and after each row, after the statement), then by name;
// a deferred one waits for the commit. The bits of tgtype: 1 row, 2 before, 4 insert, 8 delete, 16 update, 32 truncate,
// 64 instead of.
const TRIGGERS = `
  select n.nspname || '.' || c.relname as table, t.tgname as trigger, t.tgtype & 1 <> 0 as is_row,
    t.tgtype & 2 <> 0 as is_before, t.tgtype & 64 <> 0 as is_instead,
    concat_ws(', ',
      case when t.tgtype & 4 <> 0 then 'insert' end,
      case when t.tgtype & 16 <> 0 then
        concat_ws(' of ', 'update',
          (select string_agg(a.attname, ', ' order by a.attnum)
           from pg_attribute a where a.attrelid = c.oid and a.attnum = any (t.tgattr::int2[]))) end,
      case when t.tgtype & 8 <> 0 then 'delete' end,
      case when t.tgtype & 32 <> 0 then 'truncate' end) as events,
    t.tgconstraint <> 0 as is_constraint, t.tgdeferrable as is_deferrable, t.tginitdeferred as is_deferred,
    t.tgenabled as enabled,
    substring(pg_get_triggerdef(t.oid, true) from ' WHEN \\((.*)\\) EXECUTE FUNCTION ') as condition,
    concat_ws(', ', 'old rows as ' || t.tgoldtable, 'new rows as ' || t.tgnewtable) as transition,
    substring(pg_get_triggerdef(t.oid) from 'EXECUTE FUNCTION (.*)$') as function,
    coalesce(obj_description(t.oid, 'pg_trigger'), obj_description(t.tgfoid, 'pg_proc')) as why
  from pg_trigger t
  join pg_class c on c.oid = t.tgrelid
  join pg_namespace n on n.oid = c.relnamespace
  where not t.tgisinternal and t.tgparentid = 0 and ${IS_OUR_SCHEMA}
  order by n.nspname <> 'public', n.nspname, c.relname,
    t.tginitdeferred,
    case when t.tgtype & 64 <> 0 then 2 when t.tgtype & 3 = 2 then 0 when t.tgtype & 3 = 3 then 1 when t.tgtype & 3 = 1 then 3 else 4 end,
    t.tgname`;

const EVENT_TRIGGERS = `
  select e.evtname as trigger, e.evtevent as event, array_to_string(e.evttags, ', ') as tags,
    p.oid::regprocedure::text as function,
    coalesce(obj_description(e.oid, 'pg_event_trigger'), obj_description(p.oid, 'pg_proc')) as why
  from pg_event_trigger e
  join pg_proc p on p.oid = e.evtfoid
  order by e.evtevent, e.evtname`;

function timingOf({
  is_row,
  is_before,
  is_instead,
  is_constraint,
  is_deferrable,
  is_deferred,
}: Record<string, unknown>) {
  const time = is_instead ? 'instead of' : is_before ? 'before' : 'after';
  const timing = `${time} ${is_row ? 'each row' : 'the statement'}`;
  if (!is_constraint) return timing;
  if (!is_deferrable) return `${timing} (constraint)`;
  return is_deferred ? 'at commit, for each row (deferred constraint)' : `${timing} (constraint, deferrable)`;
}

const ENABLED: Record<string, string> = {
  D: 'it is disabled',
  A: 'also on a replica',
  R: 'only on a replica',
};

const eventsOf = ({ events, condition, transition, enabled }: Record<string, string>) =>
  [events, transition, condition && `when ${condition}`, ENABLED[enabled!]].filter(Boolean).join('; ');

/** The page as Markdown. `client` may be any role: the catalogue is open to all. */
export async function describeTriggers(client: pg.ClientBase): Promise<string> {
  const tables = byTable(await rowsOf(client, TRIGGERS));
  const eventTriggers = await rowsOf(client, EVENT_TRIGGERS);
  const sections = [...tables].map(
    ([table, triggers]) => `## ${table}

${markdownTable(
  ['', 'trigger', 'fires', 'on', 'function', 'why'],
  triggers.map((row, at) => [at + 1, row.trigger, timingOf(row), eventsOf(row), row.function, row.why]),
)}`,
  );
  return `# Triggers

\`npm run generate\` writes this page from the catalogue, and a test compares the two. The triggers of a table are listed in
the order in which PostgreSQL fires them: before the statement, before each row, after each row, after the statement, and at
commit; those of one phase by name. db/CONVENTIONS.md says which number in a name stands for which kind of work.

${sections.join('\n\n')}

## The whole database

These fire on commands that change the schema.

${markdownTable(
  ['trigger', 'fires', 'on', 'function', 'why'],
  eventTriggers.map((row) => [row.trigger, row.event, row.tags || 'every such command', row.function, row.why]),
)}
`;
}
