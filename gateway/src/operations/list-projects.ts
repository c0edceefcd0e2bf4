// The projects in which the caller may read memories, for clients of MCP that complete or list them. It is no tool: agents are told of
// the project that they work in.
import type pg from 'pg';
import { z } from 'zod';
import { queryPrepared } from '../database/index.ts';
import { defineOperation } from './operation.ts';

/** Further projects, in the order of their names, are left out. */
const MOST_PROJECTS = 1_000;

const QUERY = `select p.projects, audit.audit_read('STATS', jsonb_build_object('function', 'readable_projects',
    'rows', cardinality(p.projects)))
  from identity.require_identity() me cross join lateral search.readable_projects(me, me.readable_scopes, $1) p (projects)`;

export const listProjects = defineOperation({
  name: 'list_projects',
  title: 'List projects',
  toolSet: 'core',
  description: 'List the projects in which you may read memories.',
  input: z.strictObject({}),
  output: z.object({ projects: z.array(z.string()) }),
  isReadOnly: true,
  audit: 'STATS',
  async run(client: pg.ClientBase) {
    const { rows } = await queryPrepared<{ projects: string[] }>(client, {
      name: 'list_projects',
      text: QUERY,
      values: [MOST_PROJECTS],
    });
    return { projects: rows[0]!.projects };
  },
  summarize: ({ projects }) => projects.join(', '),
});
