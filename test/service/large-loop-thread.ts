/** Runs a loop of many items in a separate thread, which may have less memory than the process. */
import { parentPort, workerData } from 'node:worker_threads';
import * as z from 'zod';
import { runLoop } from './large-loop.ts';

const { items, concurrency } = z.strictObject({ items: z.number(), concurrency: z.number() }).parse(workerData);
parentPort?.postMessage(await runLoop(items, concurrency));
