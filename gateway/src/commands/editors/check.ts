// Which editors are set up here, for `doctor` and `status`.
import { type Check, note, well, wrong } from '../doctor/check.ts';
import { connect } from '../support/client.ts';
import { minuteOf } from '../support/output.ts';
import { type EditorState, editorStates } from './setting.ts';

const LAST_CALL = `query ($caller: String!) { admin {
  auditLogs(first: 1, orderBy: OCCURRED_AT_DESC, filter: { caller: { equalTo: $caller } }) { nodes { occurredAt } }
} }`;

/** A line for each editor that uses l9-memory, and one for those that could. */
export async function ofEditors(env: NodeJS.ProcessEnv): Promise<Check[]> {
  const states = editorStates(env);
  const used = states.filter(isUsed);
  const lastCalls = await callsOf(
    env,
    used.map(({ caller }) => caller),
  );
  const others = states.filter((state) => state.isFound && !isUsed(state) && problemOf(state) === null);
  const install = (names: string) => `\`l9-memory install ${names}\``;
  return [
    ...states.flatMap((state) => problemOf(state) ?? []).map((problem) => wrong('editors', problem)),
    ...used.map((state) => {
      const { name, title, caller } = state;
      const call = lastCalls.get(caller);
      const seen =
        call === undefined ? '' : call === null ? '; no call of it was seen yet' : `; last call ${minuteOf(call)} UTC`;
      return isWhole(state)
        ? well('editors', `${title} is set up in ${whereOf(state)}, as the caller ${caller}${seen}`)
        : note('editors', `${title} uses it, but not with all that ${install(name)} sets up${seen}`);
    }),
    ...(others.length > 0
      ? [
          note(
            'editors',
            `${others.map(({ title }) => title).join(', ')} could use it: ${install(others.map(({ name }) => name).join(' '))}`,
          ),
        ]
      : []),
    ...(used.length + others.length === 0
      ? [note('editors', `none was found here: ${install('NAME')} sets one up`)]
      : []),
  ];
}

/** The names of the editors that use it, for one line. */
export const editorsInUse = (env: NodeJS.ProcessEnv): string[] =>
  editorStates(env)
    .filter(isUsed)
    .map(({ title }) => title);

const placesOf = ({ user, project }: EditorState) => [user, project];
const isUsed = (state: EditorState) => placesOf(state).some((one) => one === 'whole' || one === 'partly');
const isWhole = (state: EditorState) => placesOf(state).includes('whole');

const whereOf = ({ user, project }: EditorState) =>
  [...(user === 'whole' ? ['its settings'] : []), ...(project === 'whole' ? ['those of this project'] : [])].join(
    ' and ',
  );

function problemOf(state: EditorState): string | null {
  const problem = placesOf(state).find((one) => typeof one === 'object');
  return problem && typeof problem === 'object' ? `${state.title}: ${problem.problem}` : null;
}

/** When each caller last called. Without a server, or an administrator's key, nothing is known. */
async function callsOf(env: NodeJS.ProcessEnv, callers: string[]): Promise<Map<string, string | null>> {
  const calls = new Map<string, string | null>();
  if (callers.length === 0) return calls;
  try {
    const client = await connect(env, {});
    for (const caller of new Set(callers)) {
      const { admin } = await client.request<{ admin: { auditLogs: { nodes: { occurredAt: string }[] } } }>(LAST_CALL, {
        caller,
      });
      calls.set(caller, admin.auditLogs.nodes[0]?.occurredAt ?? null);
    }
  } catch {
    // The checks of the server say what is wrong with it.
  }
  return calls;
}
