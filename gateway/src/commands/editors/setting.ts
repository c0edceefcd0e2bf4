// What `install`, `uninstall`, `doctor` and `status` share: where editors keep their settings here, and what starts l9-memory from them.
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isCompiled, packageRoot } from '../../base/paths.ts';
import { type Config, loadConfig } from '../../config/config.ts';
import type { Launch, Place } from '../../editors/editor.ts';
import { editors, isFound } from '../../editors/index.ts';
import { stateOf } from '../../editors/plan.ts';
import { rootOfWorkingCopy } from '../../mcp/working-copy.ts';
import { reasonOf } from '../support/client.ts';

export interface Setting {
  config: Config;
  place: Place;
  launch: Launch;
}

/** The settings of this user, or of the project that the current folder belongs to. */
export function settingOf(env: NodeJS.ProcessEnv, isOfProject: boolean): Setting {
  const config = loadConfig(env);
  const { platform } = process;
  const project = isOfProject ? (rootOfWorkingCopy(process.cwd()) ?? process.cwd()) : null;
  const user = (platform !== 'win32' && env.HOME) || homedir();
  const home = isOfProject || config.home === join(user, '.l9-memory') ? null : config.home;
  return {
    config,
    place: { home: user, project, platform, env },
    launch: { ...commandOf(isOfProject, platform), home, platform },
  };
}

/** npx keeps packages only for a while, and settings of a project are for colleagues, who have other folders. */
function commandOf(isOfProject: boolean, platform: NodeJS.Platform): { command: string; args: string[] } {
  if (isByNpx || (isCompiled && isOfProject)) {
    const npx = ['npx', '-y', 'l9-memory'];
    const [command, ...args] = platform === 'win32' ? ['cmd', '/c', ...npx] : npx;
    return { command: command!, args };
  }
  // Editors that are started from a desktop do not have the PATH of a shell.
  return {
    command: isOfProject ? 'node' : process.execPath,
    args: [join(packageRoot, 'bin', 'l9-memory.cjs')],
  };
}

export const isByNpx = /[\\/]_npx[\\/]/.test(packageRoot);

export interface EditorState {
  name: string;
  title: string;
  caller: string;
  isFound: boolean;
  /** Whose settings have all entries, or only some or outdated ones, and what is wrong with the settings. */
  user: State;
  project: State;
}

type State = 'whole' | 'partly' | 'none' | { problem: string };

/** The state of each editor on this machine. */
export function editorStates(env: NodeJS.ProcessEnv): EditorState[] {
  const ofUser = settingOf(env, false);
  const ofProject = settingOf(env, true);
  return editors.map((editor) => {
    const stateIn = ({ place, launch }: Setting): State => {
      const changes = editor.changes(place, launch);
      if (changes === null) return 'none';
      try {
        return stateOf(editor, changes);
      } catch (error) {
        return { problem: reasonOf(error) };
      }
    };
    const { name, title, actor } = editor;
    return {
      ...{ name, title, caller: actor.caller, isFound: isFound(editor, ofUser.place) },
      ...{ user: stateIn(ofUser), project: stateIn(ofProject) },
    };
  });
}
