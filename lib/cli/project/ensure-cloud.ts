/** Uses the embedded cloud of this folder, or starts one that ends with the command. */
import type { ChildProcess } from 'node:child_process';
import { type CommandContext, CliError, exitCodes } from '../command.ts';
import { readLocalInstallation } from '../connection.ts';
import { localDirectory } from '../project-folder.ts';
import { type CloudOptions, exitOf, spawnCloud } from './cloud-process.ts';

export interface CloudOfCommand {
  /** settles with an error when the cloud that the command started ends by itself; never settles otherwise */
  readonly ended: Promise<never>;
  readonly stop: () => Promise<void>;
}

const foundCloud: CloudOfCommand = { ended: new Promise(() => {}), stop: () => Promise.resolve() };

const pollIntervalMs = 50;

const isAlive = (pid: number | undefined): boolean => {
  if (pid === undefined) return true;
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

/** The file outlives a cloud that was killed. */
const findRunning = (context: Pick<CommandContext, 'env' | 'cwd'>) => {
  const local = readLocalInstallation(context);
  return local !== undefined && isAlive(local.pid) ? local : undefined;
};

/** The setting belongs to the start of a cloud. */
function warnIfRestricted(
  { log }: Pick<CommandContext, 'log'>,
  { url, allowsLocalhost }: NonNullable<ReturnType<typeof findRunning>>,
  { allowLocalhost }: CloudOptions,
): void {
  if (!allowLocalhost || allowsLocalhost === true) return;
  log(
    `warning: The embedded cloud at ${url} runs without --allow-localhost: nodes, models and messages to apps of the Workflow DevKit cannot reach this machine. Stop it with Ctrl-C in its terminal, and start it with stepwell start --allow-localhost.`,
  );
}

export async function ensureCloud(context: CommandContext, options: CloudOptions): Promise<CloudOfCommand> {
  const running = findRunning(context);
  if (running !== undefined) {
    warnIfRestricted(context, running, options);
    return foundCloud;
  }
  context.log(`Starting the embedded cloud. Its state is in ${localDirectory(context)}.`);
  const child = spawnCloud(context, options, 'ignore');
  const exit = exitOf(child);
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exit;
  };
  const ended = exit.then((): never => {
    throw new CliError('cloud_ended', 'The embedded cloud has ended; its message is above.');
  });
  // Nothing waits for it after the command has ended.
  ended.catch(() => undefined);
  try {
    await Promise.race([waitUntilRunning(context, child), ended]);
    context.signal.throwIfAborted();
  } catch (error) {
    await stop();
    throw error;
  }
  return { ended, stop };
}

/** @returns false if the signal was aborted first */
export async function waitUntilRunning(
  context: Pick<CommandContext, 'env' | 'cwd' | 'sleep' | 'signal'>,
  child: ChildProcess,
): Promise<boolean> {
  while (findRunning(context)?.pid !== child.pid) {
    if (context.signal.aborted) return false;
    await context.sleep(pollIntervalMs, context.signal);
  }
  return !context.signal.aborted;
}

/** `dev --no-start` needs a cloud that runs. @throws CliError */
export function requireCloud(context: CommandContext, options: CloudOptions): void {
  const running = findRunning(context);
  if (running !== undefined) return warnIfRestricted(context, running, options);
  const message = `No embedded cloud runs on ${localDirectory(context)}: start it with stepwell start, or leave --no-start out.`;
  throw new CliError('no_connection', message, exitCodes.usage);
}
