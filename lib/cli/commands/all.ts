/** Registers every command, in the order of `--help`. Import nothing heavy here: `--help` loads all of it. */
import { Argument, Command } from 'commander';
import type { CreateHandler, Register } from '../command.ts';
import { registerClock, registerDeployments, registerProject, registerWorker } from './code.ts';
import { registerDefinitions } from './definitions.ts';
import { registerDiagnostics, registerOwnership } from './diagnostics.ts';
import { registerEmbeds } from './embeds.ts';
import { registerInstallation } from './installation.ts';
import { registerKeys, registerProfiles } from './keys.ts';
import { registerHooks, registerRuns, registerSignals } from './runs.ts';
import { registerSchedules } from './schedules.ts';

const registers: readonly Register[] = [
  registerRuns,
  registerDefinitions,
  registerInstallation,
  registerSchedules,
  registerSignals,
  registerHooks,
  registerProject,
  registerClock,
  registerDeployments,
  registerWorker,
  registerDiagnostics,
  registerOwnership,
  registerKeys,
  registerEmbeds,
  registerProfiles,
];

export function addCommands(program: Command, createHandler: CreateHandler): void {
  for (const register of registers) register(program, createHandler);
  program
    .command('completion')
    .description('print the script that completes commands in a shell')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish', 'powershell']))
    .addHelpText(
      'after',
      `
Load it at the start of the shell, for bash: source <(stepwell completion bash)
The script for bash needs the package bash-completion.
Where projects install stepwell, define this function before: stepwell() { npx --no-install stepwell "$@"; }`,
    )
    .action(async (shell: string) => {
      const { printScript } = await import('../actions/completion.ts');
      printScript(copyWithoutCompletion(program), shell);
    });
}

/** The program as completions describe it. The library that completes commands adds its own command of that name. */
export function copyWithoutCompletion(program: Command): Command {
  const copy = new Command(program.name());
  for (const option of program.options) copy.addOption(option);
  for (const register of registers) register(copy, () => async () => undefined);
  return copy;
}
