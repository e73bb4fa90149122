/** A thread that runs seeds. A request has the first seed and a count, and the response has their tally. */
import { parentPort } from 'node:worker_threads';
import * as z from 'zod';
import { simulate } from './simulation.ts';
import { addFailure, addReport, emptyTally } from './tally.ts';
import { type SimulationKind, simulationKinds, optionsOfKind } from './options-of-seed.ts';

export const partSchema = z.strictObject({ from: z.number(), count: z.number(), world: z.enum(simulationKinds) });

parentPort?.on('message', (message: unknown) => {
  const { from, count, world } = partSchema.parse(message);
  void run(from, count, world);
});

async function run(from: number, count: number, world: SimulationKind): Promise<void> {
  const tally = emptyTally();
  for (let seed = from; seed < from + count; seed += 1) {
    try {
      addReport(tally, await simulate(optionsOfKind(world, seed)));
    } catch (thrown) {
      addFailure(tally, { seed, world }, thrown);
    }
  }
  parentPort?.postMessage(tally);
}
