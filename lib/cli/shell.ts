/** What an action has of the world, made from the process it runs in. */
import type { StepwellClient } from '../client/index.ts';
import { CliFault, type Connection, type PreferredPlace, type Shell, exitCodes, usageFault } from './command.ts';
import type { Screen } from './screen.ts';
import type { Terminal } from './terminal.ts';

/** Bulk work meets the limit of its key again and again, and each time it is told when to come back. */
const retries = 5;

export function shellOf(terminal: Terminal, screen: Screen, options: Readonly<Record<string, unknown>>): Shell {
  const { env, cwd, signal, fetch, now, sleep, newId } = terminal;
  let connecting: Promise<Connection> | undefined;
  const connection = (preferred: PreferredPlace = {}): Promise<Connection> =>
    (connecting ??= connect(terminal, screen, options, preferred));
  let making: Promise<StepwellClient> | undefined;
  return {
    env,
    cwd,
    isJson: screen.isJson,
    signal,
    fetch,
    now,
    sleep,
    newId,
    say: screen.say,
    note: screen.note,
    paint: screen.paint,
    openInBrowser: terminal.isInteractive ? terminal.openInBrowser : undefined,
    confirm: (question) => {
      if (terminal.isInteractive && !screen.isJson) return terminal.ask(question);
      throw new CliFault('confirmation_required', `${question} There is nobody to ask: add --yes.`, exitCodes.usage);
    },
    typed: (question, option) => {
      if (terminal.isInteractive && !screen.isJson) return terminal.askText(question);
      throw new CliFault('confirmation_required', `${question} There is nobody to ask: add ${option}.`, exitCodes.usage);
    },
    connection,
    client: (preferred) =>
      (making ??= connection(preferred).then(async ({ url, apiKey, source }) => {
        if (apiKey === undefined)
          throw new CliFault('no_key', `There is no API key for ${url} (${source}): set STEPWELL_API_KEY.`, exitCodes.usage);
        const { StepwellClient } = await import('../client/index.ts');
        try {
          return new StepwellClient({ baseUrl: url, apiKey, fetchImpl: fetch, sleep, retries });
        } catch (trouble) {
          throw usageFault(
            `What ${source} says cannot be used: ${trouble instanceof Error ? trouble.message : String(trouble)}.`,
          );
        }
      })),
  };
}

async function connect(
  terminal: Terminal,
  screen: Screen,
  options: Readonly<Record<string, unknown>>,
  preferred: PreferredPlace,
): Promise<Connection> {
  const { connectionOf } = await import('./connection.ts');
  const found = connectionOf(terminal, options, preferred);
  for (const warning of found.warnings) screen.note(`warning: ${warning}`);
  return found;
}
