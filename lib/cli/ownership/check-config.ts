import { lookup } from 'node:dns/promises';
import * as z from 'zod';
import { serviceUrlOf } from '../../ownership/config.ts';
import { isLoopback, checkConfig as configChecks } from '../../ownership/check-config.ts';
import type { Action, CommandContext } from '../command.ts';
import { file, parseOptions } from '../parse-command-line.ts';
import { type ConfigFile, readConfigFile } from './config-file.ts';
import { checksOutcome } from './checks-outcome.ts';

const shape = z.object({ config: file.optional() });
/** A name that nobody answers for in this time is as good as unknown. */
const lookupTimeoutMs = 5_000;

export const checkConfig: Action = async (commandLine, context) => {
  const found = await readConfigFile(context.cwd, parseOptions(commandLine, shape).config);
  const isHostKnown = await canResolveHost(context, found, async (host) => void (await lookup(host)));
  return checksOutcome(configChecks(found.path, found.read, { env: context.env, isHostKnown }));
};

/** @param resolve throws where there is no such name */
async function canResolveHost(
  { sleep, signal }: Pick<CommandContext, 'sleep' | 'signal'>,
  { read }: ConfigFile,
  resolve: (host: string) => Promise<void>,
): Promise<boolean | undefined> {
  const url = read.kind === 'valid' ? serviceUrlOf(read.config) : undefined;
  if (url === undefined || isLoopback(url)) return undefined;
  const timeoutController = new AbortController();
  const resolved = resolve(new URL(url).hostname).then(
    () => true,
    () => false,
  );
  const isKnown = await Promise.race([
    resolved,
    sleep(lookupTimeoutMs, AbortSignal.any([signal, timeoutController.signal])).then(() => false),
  ]);
  timeoutController.abort();
  return isKnown;
}
