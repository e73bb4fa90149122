/** Builds the context of an action from the terminal and the output. */
import type { StepwellClient } from '../client/index.ts';
import { CliError, type Connection, type ConnectionPreference, type CommandContext, exitCodes, usageError } from './command.ts';
import type { Output } from './output.ts';
import type { Terminal } from './command.ts';

/** Bulk operations reach the rate limit of their key repeatedly; each 429 says when to retry. */
const retries = 5;

export function createCommandContext(
  terminal: Terminal,
  output: Output,
  options: Readonly<Record<string, unknown>>,
): CommandContext {
  const { env, cwd, signal, fetch, now, sleep, newId, readInput } = terminal;
  let connectionPromise: Promise<Connection> | undefined;
  const connection = (preferred: ConnectionPreference = {}): Promise<Connection> =>
    (connectionPromise ??= connect(terminal, output, options, preferred));
  let clientPromise: Promise<StepwellClient> | undefined;
  return {
    env,
    cwd,
    isJson: output.isJson,
    signal,
    fetch,
    now,
    sleep,
    newId,
    readInput,
    print: output.print,
    printJsonLine: output.printJsonLine,
    log: output.log,
    colorize: output.colorize,
    openInBrowser: terminal.isInteractive ? terminal.openInBrowser : undefined,
    confirm: (question) => {
      if (terminal.isInteractive && !output.isJson) return terminal.promptConfirm(question);
      throw new CliError('confirmation_required', `${question} This terminal is not interactive: add --yes.`, exitCodes.usage);
    },
    promptText: (question, option) => {
      if (terminal.isInteractive && !output.isJson) return terminal.promptText(question);
      throw new CliError(
        'confirmation_required',
        `${question} This terminal is not interactive: add ${option}.`,
        exitCodes.usage,
      );
    },
    connection,
    client: (preferred) =>
      (clientPromise ??= connection(preferred).then(async ({ url, startUrl, apiKey, source }) => {
        if (apiKey === undefined)
          throw new CliError('no_key', `There is no API key for ${url} (${source}): set STEPWELL_API_KEY.`, exitCodes.usage);
        const { StepwellClient } = await import('../client/index.ts');
        try {
          return new StepwellClient({ baseUrl: url, startUrl, apiKey, fetchImpl: fetch, sleep, retries });
        } catch (error) {
          throw usageError(`The client cannot use ${source}: ${error instanceof Error ? error.message : String(error)}.`);
        }
      })),
  };
}

async function connect(
  terminal: Terminal,
  output: Output,
  options: Readonly<Record<string, unknown>>,
  preferred: ConnectionPreference,
): Promise<Connection> {
  const { resolveConnection } = await import('./connection.ts');
  const resolved = resolveConnection(terminal, options, preferred);
  for (const warning of resolved.warnings) output.log(`warning: ${warning}`);
  return resolved;
}
