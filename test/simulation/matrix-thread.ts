/** A thread that runs the crash matrix of fixed workflows. A request has the group of the workflow and its index in the group. */
import { parentPort } from 'node:worker_threads';
import * as z from 'zod';
import { corpus } from './corpus.ts';
import { runCrashMatrix } from './crash-matrix.ts';

const askedSchema = z.strictObject({ group: z.string(), index: z.number(), maxCallsForPairs: z.number() });

parentPort?.on('message', (message: unknown) => {
  const { group, index, maxCallsForPairs } = askedSchema.parse(message);
  const fixed = corpus[group]?.[index];
  if (fixed === undefined) throw new Error(`there is no workflow ${index} of ${group}`);
  void runCrashMatrix(fixed, { maxCallsForPairs }).then((row) => parentPort?.postMessage(row));
});
