/** Starts runs continuously, then checks that every accepted run exists and has completed. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { BenchCloud } from './bench-cloud.ts';
import { chain } from './workflows.ts';

export interface SustainedResult {
  readonly accepted: number;
  readonly perSecond: number;
  readonly completed: number;
  /** accepted runs that did not complete in time */
  readonly lost: readonly string[];
}

const runShape = z.looseObject({ status: z.string() });
/** Longer than the sweep needs to recover a run with a lost message. */
const timeoutMs = 300_000;
const pollIntervalMs = 100;

/** @throws if the status of a start is not 202 */
export async function sustainStarts(bench: BenchCloud, parallel: number, seconds: number): Promise<SustainedResult> {
  const workflow = chain(1);
  await bench.publish(workflow);
  const accepted: string[] = [];
  const startedAt = performance.now();
  const until = startedAt + seconds * 1_000;
  const starter = async (workerIndex: number): Promise<void> => {
    for (let number = 0; performance.now() < until; number += 1)
      accepted.push(await bench.start(workflow, `sustained-${workerIndex}-${number}`));
  };
  await Promise.all(Array.from({ length: parallel }, (_one, workerIndex) => starter(workerIndex)));
  const perSecond = accepted.length / ((performance.now() - startedAt) / 1_000);

  const deadline = performance.now() + timeoutMs;
  while (accepted.some((runId) => !bench.hasEnded(runId)) && performance.now() < deadline) await wait(pollIntervalMs);
  const lost: string[] = [];
  for (const runId of accepted) {
    const { status } = runShape.parse(await bench.get(`/v1/runs/${runId}`));
    if (status !== 'completed') lost.push(runId);
  }
  return { accepted: accepted.length, perSecond, completed: accepted.length - lost.length, lost };
}
