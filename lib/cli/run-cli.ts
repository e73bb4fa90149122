/** One command line, from its words to its exit code. */
import { Command, CommanderError } from 'commander';
import { type Act, CliFault, type ExitCode, type Outcome, exitCodes } from './command.ts';
import { addCommands } from './commands/all.ts';
import { screenOf } from './screen.ts';
import { shellOf } from './shell.ts';
import type { Terminal } from './terminal.ts';

const epilogue = `
Exit codes: 0 done; 1 refused or failed; 2 warnings only; 3 the command line is wrong; 4 no answer; 130 interrupted.
With --json, stdout is { "ok": true, "data": … } or { "ok": false, "error": { "code", "message", … } }.`;

export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  const isJson = args.includes('--json');
  const screen = screenOf(terminal, { isJson, wantsColour: !args.includes('--no-color') });
  let outcome: Outcome | undefined;
  const act: Act = (load) =>
    async function perform(this: Command): Promise<void> {
      const action = await load();
      const options = this.optsWithGlobals<Record<string, unknown>>();
      outcome = await action({ args: this.args, options }, shellOf(terminal, screen, options));
    };
  try {
    await programOf(terminal, isJson, act).parseAsync(args, { from: 'user' });
    if (outcome === undefined) return exitCodes.ok;
    screen.end(outcome);
    return outcome.exitCode ?? exitCodes.ok;
  } catch (trouble) {
    if (trouble instanceof CommanderError) return endOfParsing(trouble, screen.fail);
    if (terminal.signal.aborted) {
      screen.fail({ code: 'interrupted', message: '' });
      return exitCodes.interrupted;
    }
    if (trouble instanceof CliFault) {
      screen.fail({ code: trouble.code, message: trouble.message });
      return trouble.exitCode;
    }
    const { faultOf } = await import('./fault-of.ts');
    const { exitCode, error } = faultOf(trouble);
    screen.fail(error);
    return exitCode;
  }
}

/** Commander has printed help, a version or what is wrong; with `--json` the last is still to be said. */
function endOfParsing(
  { code, exitCode, message }: CommanderError,
  fail: (error: { code: string; message: string }) => void,
): ExitCode {
  if (exitCode === 0) return exitCodes.ok;
  // `stepwell` and `stepwell keys` alone: help is what they get.
  if (code !== 'commander.help') fail({ code: 'usage', message: message.replace(/^error: /, '') });
  return exitCodes.usage;
}

function programOf(terminal: Terminal, isJson: boolean, act: Act): Command {
  const program = new Command('stepwell')
    .description('Runs and looks after durable workflows, through the HTTP API of an installation.')
    .option('--json', 'print one JSON document on stdout')
    .option('--profile <name>', 'the installation to speak to, from the profiles')
    .option('--url <url>', 'the installation to speak to; the key is taken from STEPWELL_API_KEY')
    .option('--no-color', 'no colour; NO_COLOR does the same')
    .helpOption('-h, --help', 'say how a command is written')
    .helpCommand('help [command]', 'say how a command is written')
    .addHelpText('after', epilogue)
    .exitOverride()
    .configureOutput({
      writeOut: terminal.writeOut,
      // Faults are printed where all of them are, in one form.
      writeErr: (text) => (isJson ? undefined : terminal.writeErr(text)),
      outputError: () => undefined,
      getOutHasColors: () => false,
      getErrHasColors: () => false,
    });
  addCommands(program, act);
  return program;
}
