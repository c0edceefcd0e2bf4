// What `l9-memory help` says.
import type { Command } from 'commander';
import { describeOnEmbedded } from '../../../db/tests/support/on-engine.ts';
import { createProgram } from '../../src/cli/program.ts';

const helpOf = (command: Command): string => {
  let said = '';
  command.configureOutput({ writeOut: (text) => (said += text) }).outputHelp();
  return said;
};

/** The commands that do something, by what a person types for them. */
const leavesOf = (command: Command, name: string): [string, Command][] =>
  command.commands.length === 0
    ? [[name, command]]
    : command.commands.flatMap((one) => leavesOf(one, `${name} ${one.name()}`));

describeOnEmbedded('the help of l9-memory', () => {
  it.each(leavesOf(createProgram(), 'l9-memory'))('explains %s with an example', (name, command) => {
    const [, example = ''] = /^Example: (.+)$/m.exec(helpOf(command)) ?? [];
    expect(` ${example} `).toContain(` ${name} `);
  });

  it('lists all commands in groups', () => {
    const inNone = createProgram().commands.filter((command) => !command.helpGroup());
    expect(inNone.map((command) => command.name())).toStrictEqual([]);
  });
});
