import { lookup } from 'node:dns/promises';
import * as z from 'zod';
import { serviceUrlOf } from '../../ownership/config.ts';
import { isLoopback, judgeConfig } from '../../ownership/judge-config.ts';
import type { Action, Shell } from '../command.ts';
import { file, optionsIn } from '../given.ts';
import { type FoundConfig, configIn } from './config-file.ts';
import { outcomeOf } from './outcome.ts';

const shape = z.object({ config: file.optional() });
/** A name that nobody answers for in this time is as good as unknown. */
const patienceMs = 5_000;

export const checkConfig: Action = async (given, shell) => {
  const found = await configIn(shell.cwd, optionsIn(given, shape).config);
  const isHostKnown = await hostKnown(shell, found, async (host) => void (await lookup(host)));
  return outcomeOf(judgeConfig(found.path, found.read, { env: shell.env, isHostKnown }));
};

/** @param resolve throws where there is no such name */
async function hostKnown(
  { sleep, signal }: Pick<Shell, 'sleep' | 'signal'>,
  { read }: FoundConfig,
  resolve: (host: string) => Promise<void>,
): Promise<boolean | undefined> {
  const url = read.kind === 'valid' ? serviceUrlOf(read.config) : undefined;
  if (url === undefined || isLoopback(url)) return undefined;
  const stop = new AbortController();
  const inTime = resolve(new URL(url).hostname).then(
    () => true,
    () => false,
  );
  const known = await Promise.race([inTime, sleep(patienceMs, AbortSignal.any([signal, stop.signal])).then(() => false)]);
  stop.abort();
  return known;
}
