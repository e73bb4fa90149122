/** Runs one command line: parses it, runs the action, prints the outcome and returns the exit code. */
import { Command, CommanderError } from 'commander';
import { type CreateHandler, CliError, type ExitCode, type Outcome, exitCodes } from './command.ts';
import { addCommands, copyWithoutCompletion } from './commands/all.ts';
import { createOutput } from './output.ts';
import { createCommandContext } from './command-context.ts';
import type { Terminal } from './command.ts';
import { readVersion } from './version.ts';

const epilogue = `
Exit codes: 0 success; 1 refused or failed; 2 warnings only; 3 invalid command line; 4 no response; 130 interrupted.
With --json, stdout is { "ok": true, "data": … } or { "ok": false, "error": { "code", "message", … } }.`;

export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const isJson = args.includes('--json');
  const output = createOutput(terminal, { isJson, wantsColour: !args.includes('--no-color') });
  let outcome: Outcome | undefined;
  const createHandler: CreateHandler = (load) =>
    async function runAction(this: Command): Promise<void> {
      const action = await load();
      const options = this.optsWithGlobals<Record<string, unknown>>();
      outcome = await action({ args: this.args, options }, createCommandContext(terminal, output, options));
    };
  try {
    const program = createProgram(terminal, isJson, createHandler);
    if (args[0] === 'complete' && args[1] === '--') {
      const { printSuggestions } = await import('./actions/completion.ts');
      printSuggestions(copyWithoutCompletion(program), args.slice(2));
      return exitCodes.ok;
    }
    await program.parseAsync(args, { from: 'user' });
    if (outcome === undefined) return exitCodes.ok;
    output.printOutcome(outcome);
    return outcome.exitCode ?? exitCodes.ok;
  } catch (thrown) {
    if (thrown instanceof CommanderError) return parseFailureExitCode(thrown, output.printError);
    if (terminal.signal.aborted) {
      output.printError({ code: 'interrupted', message: '' });
      return exitCodes.interrupted;
    }
    if (thrown instanceof CliError) {
      output.printError({ code: thrown.code, message: thrown.message });
      return thrown.exitCode;
    }
    const { describeError } = await import('./describe-error.ts');
    const { exitCode, error } = describeError(thrown);
    output.printError(error);
    return exitCode;
  }
}

/** Commander has printed help already. Its errors are printed here, so that they have one form. */
function parseFailureExitCode(
  { code, exitCode, message }: CommanderError,
  printError: (error: { code: string; message: string }) => void,
): ExitCode {
  if (exitCode === 0) return exitCodes.ok;
  // `stepwell` and `stepwell keys` without a subcommand print help only.
  if (code !== 'commander.help') printError({ code: 'usage', message: message.replace(/^error: /, '') });
  return exitCodes.usage;
}

function createProgram(terminal: Terminal, isJson: boolean, createHandler: CreateHandler): Command {
  const program = new Command('stepwell')
    .description('Run and manage durable workflows through the HTTP API of an installation.')
    .version(readVersion(), '-V, --version', 'print the version')
    .option('--json', 'print one JSON document on stdout')
    .option('--profile <name>', 'use the installation of this profile')
    .option('--url <url>', 'use the installation at this address; the key comes from STEPWELL_API_KEY')
    .option('--no-color', 'print without colour; NO_COLOR does the same')
    .helpOption('-h, --help', 'show help for a command')
    .helpCommand('help [command]', 'show help for a command')
    .addHelpText('after', epilogue)
    .exitOverride()
    .configureOutput({
      writeOut: terminal.writeOut,
      // runCli prints all errors in one form.
      writeErr: (text) => (isJson ? undefined : terminal.writeErr(text)),
      outputError: () => undefined,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  addCommands(program, createHandler);
  return program;
}
