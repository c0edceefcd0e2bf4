// What the groups of commands share: options, and how a command is loaded when it is run.
import type { Command } from 'commander';
import { PERSON } from '../auth/identity.ts';

export const list = (value: string) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean);

export const collect = (value: string, before: string[] = []) => [...before, value];

/** The options of a command that asks a server through its GraphQL API. */
export const asking = (command: Command, who = 'the caller') =>
  command
    .option('--url <url>', 'URL of the server; default: the server of this home folder')
    .option('--caller <name>', who, PERSON)
    .option('--token <jwt>', 'use this token instead of signing one for the caller');

/** An example below the help of a command. */
export const example = (text: string) => `\nExample: ${text}`;

/** Loads what runs a command, which returns the exit code. */
export const run =
  <Given extends unknown[]>(load: () => Promise<(env: NodeJS.ProcessEnv, ...given: Given) => Promise<number>>) =>
  async (...given: Given) => {
    process.exitCode = await (await load())(process.env, ...given);
  };

/** The environment with the home folder of an option: settings of editors are a command, and not all of them take variables. */
export const inHome = (env: NodeJS.ProcessEnv, { home }: { home?: string }): NodeJS.ProcessEnv =>
  home === undefined ? env : { ...env, L9_MEMORY_HOME: home };
