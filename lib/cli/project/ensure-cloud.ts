/** Uses the embedded cloud of this folder, or starts one that ends with the command. */
import type { ChildProcess } from 'node:child_process';
import { type CommandContext, CliError, exitCodes } from '../command.ts';
import { localDirectory, readLocalInstallation } from '../connection.ts';
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

export async function ensureCloud(context: CommandContext, options: CloudOptions): Promise<CloudOfCommand> {
  if (findRunning(context) !== undefined) return foundCloud;
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
export function requireCloud(context: CommandContext): void {
  if (findRunning(context) !== undefined) return;
  const message = `No embedded cloud runs on ${localDirectory(context)}: start it with stepwell start, or leave --no-start out.`;
  throw new CliError('no_connection', message, exitCodes.usage);
}
