import * as z from 'zod';
import { type EndedRun, type StepwellClient, TransportComputeClientError } from '../../client/index.ts';
import { type Action, CliFault, type Shell } from '../command.ts';
import { argument, count, optionsIn, runId } from '../given.ts';
import { ending } from './ending.ts';

const shape = z.object({ timeout: count(1, 2_000_000).optional() });

export const result: Action = async (given, shell) => {
  const id = argument(given, 0, 'runId', runId);
  const { timeout } = optionsIn(given, shape);
  const run = await ended(await shell.client(), id, timeout, shell.signal);
  const { exitCode, sentence } = ending(shell, run);
  // The output alone on stdout, so that it can be piped on.
  if (run.status === 'completed') return { data: run, text: outputOf(run), exitCode };
  if (!shell.isJson) shell.note(sentence);
  return { data: run, text: '', exitCode };
};

async function ended(
  client: StepwellClient,
  id: string,
  timeout: number | undefined,
  signal: Shell['signal'],
): Promise<EndedRun> {
  try {
    return await client.result(id, timeout === undefined ? { signal } : { signal, timeoutMs: timeout * 1_000 });
  } catch (trouble) {
    // The client's words for it begin with the run; those of a request without an answer begin with the request.
    const isLate = trouble instanceof TransportComputeClientError && trouble.kind === 'timeout' && trouble.message.startsWith(id);
    if (isLate) throw new CliFault('not_ended', `${id} has not ended within ${timeout} s; it goes on.`);
    throw trouble;
  }
}

const outputOf = ({ output, outputOmitted }: EndedRun): string =>
  outputOmitted === undefined ? JSON.stringify(output ?? null, null, 2) : `${outputOmitted.bytes} bytes, too large to show`;
