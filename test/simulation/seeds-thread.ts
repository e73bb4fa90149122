/** A thread that runs seeds: it is given a first one and a number, and answers with what they came to. */
import { parentPort } from 'node:worker_threads';
import * as z from 'zod';
import { noFaults } from './faults.ts';
import { simulate } from './simulation.ts';
import { addFailure, addReport, emptyTally } from './tally.ts';
import { worldOfSeed } from './world-of-seed.ts';

export const partSchema = z.strictObject({ from: z.number(), count: z.number(), isCalm: z.boolean() });

parentPort?.on('message', (message: unknown) => {
  const { from, count, isCalm } = partSchema.parse(message);
  void run(from, count, isCalm);
});

async function run(from: number, count: number, isCalm: boolean): Promise<void> {
  const tally = emptyTally();
  for (let seed = from; seed < from + count; seed += 1) {
    try {
      addReport(tally, await simulate(isCalm ? { seed, rates: noFaults } : worldOfSeed(seed)));
    } catch (trouble) {
      addFailure(tally, seed, trouble);
    }
  }
  parentPort?.postMessage(tally);
}
