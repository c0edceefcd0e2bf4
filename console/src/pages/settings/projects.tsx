// The projects that there are, and what keys, callers and rules say of each.
import { useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { Button } from '../../components/button.tsx';
import { TextField } from '../../components/field.tsx';
import { FormDialog, useForm } from '../../components/form.tsx';
import { type Column, List } from '../../components/list.tsx';
import { Empty, Ready } from '../../components/states.tsx';
import { useAddress } from '../../lib/address.ts';
import { useData } from '../../lib/data.ts';
import { formatNumber } from '../../lib/format.ts';
import { present } from '../../lib/me.ts';
import { Project } from './project.tsx';
import { type ProjectsData, projectsQuery } from './query.ts';
import { Section } from './section.tsx';

interface Row {
  project: string;
  memories: number;
  keys: number;
  defaultOf: readonly string[];
  rules: number;
}

/** A project is known by what is saved in it, and by the keys, callers and rules that name it. */
function rowsOf({ getMemoryStats, admin }: ProjectsData): Row[] {
  const counts = (getMemoryStats?.byProject ?? {}) as Record<string, number>;
  const keys = present(admin?.apiKeys).filter(({ revokedAt }) => !revokedAt);
  const actors = present(admin?.actors);
  const rules = present(admin?.reviewRules);
  const named = [
    ...Object.keys(counts),
    ...keys.flatMap(({ projects }) => present(projects)),
    ...actors.map(({ defaultProject }) => defaultProject),
    ...rules.map(({ projectId }) => projectId),
  ];
  return [...new Set(present(named))]
    .map((project) => ({
      project,
      memories: counts[project] ?? 0,
      keys: keys.filter(({ projects }) => projects?.includes(project)).length,
      defaultOf: actors.filter(({ defaultProject }) => defaultProject === project).map(({ caller }) => caller),
      rules: rules.filter(({ projectId }) => projectId === project).length,
    }))
    .sort((a, b) => b.memories - a.memories || a.project.localeCompare(b.project));
}

export function Projects() {
  const data = useData(projectsQuery, {});
  const address = useAddress();
  const [isAdding, setAdding] = useState(false);
  const open = (project: string) => address.set({ project });
  const chosen = address.get('project');
  const columns: readonly Column<Row>[] = [
    {
      name: 'project',
      title: 'Project',
      isMain: true,
      show: ({ project }) => (
        <Link href={`/settings?part=projects&project=${encodeURIComponent(project)}`}>{project}</Link>
      ),
    },
    { name: 'memories', title: 'Memories', isNumber: true, show: ({ memories }) => formatNumber(memories) },
    { name: 'keys', title: 'Keys limited to it', isNumber: true, show: ({ keys }) => formatNumber(keys) },
    { name: 'rules', title: 'Rules of review', isNumber: true, show: ({ rules }) => formatNumber(rules) },
    { name: 'default', title: 'Default of', show: ({ defaultOf }) => defaultOf.join(', ') },
  ];
  if (chosen)
    return (
      <div class="stack">
        <div>
          <Button onClick={() => open('')}>All projects</Button>
        </div>
        <Ready of={data}>{(known) => <Project name={chosen} known={known} onChanged={data.refresh} />}</Ready>
      </div>
    );
  return (
    <Section
      title="Projects"
      about="A project exists as soon as something is saved in it, or a key, a caller or a rule names it. It has no row of its own: who works in it is said by keys and tokens, what waits in it by rules of review, and when its memories expire by their kinds."
      adds="New project"
      onAdd={() => setAdding(true)}
    >
      <Ready of={data}>
        {(known) => {
          const rows = rowsOf(known);
          return rows.length === 0 ? (
            <Empty title="No projects yet" />
          ) : (
            <List caption="Projects" columns={columns} rows={rows} keyOf={({ project }) => project} />
          );
        }}
      </Ready>
      {isAdding && <ProjectForm onClose={() => setAdding(false)} onNamed={open} />}
    </Section>
  );
}

/** Sends nothing: what the project is given on its page makes it known. */
function ProjectForm({ onClose, onNamed }: { onClose: () => void; onNamed: (project: string) => void }) {
  const form = useForm({ projectId: '' }, { isBusy: false, error: undefined });
  const submit = async () => {
    const name = form.values.projectId.trim();
    const isName = /^[A-Za-z0-9._/@:+-]{1,200}$/.test(name);
    if (isName) onNamed(name);
    else form.refuse({ field: 'projectId', text: '1 to 200 letters, digits or ._/@:+-' });
    return isName;
  };
  return (
    <FormDialog title="New project" does="Go on" form={form} onSubmit={submit} onClose={onClose}>
      <TextField
        label="Name"
        isRequired
        hint="Such as shop or acme/billing. Next, give it a key or a rule of review, or save something in it."
        {...form.text('projectId')}
      />
    </FormDialog>
  );
}
