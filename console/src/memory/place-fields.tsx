// Where a memory belongs: its scope and project.
import { Select, TextField } from '../components/field.tsx';
import { useData } from '../lib/data.ts';
import { present, useMe } from '../lib/me.ts';
import { scopesQuery } from './query.ts';

export interface Place {
  scope: string;
  project: string;
}

/** The scopes that the caller can write, and whether a scope is one of projects. */
export function useScopes() {
  const { data } = useData(scopesQuery, {});
  const known = present(data?.scopes?.nodes);
  return {
    writable: present(useMe().writableScopes),
    needsProject: (scope: string) => known.find((one) => one.scope === scope)?.isProjectScoped ?? scope !== 'global',
    describe: (scope: string) => known.find((one) => one.scope === scope)?.description ?? '',
  };
}

interface PlaceFieldsProps {
  place: Place;
  onChange: (place: Place) => void;
  problemOf: (field: string) => string | null;
}

export function PlaceFields({ place, onChange, problemOf }: PlaceFieldsProps) {
  const { writable, needsProject, describe } = useScopes();
  const projects = present(useMe().projects).filter((project) => project !== '*');
  return (
    <div class="form-row">
      <Select
        label="Scope"
        hint={describe(place.scope)}
        value={place.scope}
        options={writable}
        problem={problemOf('scope')}
        onChange={(scope) => onChange({ ...place, scope })}
      />
      {needsProject(place.scope) && (
        <TextField
          label="Project"
          isRequired
          value={place.project}
          list={projects}
          problem={problemOf('projectId')}
          onInput={(project) => onChange({ ...place, project })}
        />
      )}
    </div>
  );
}
