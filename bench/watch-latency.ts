/** How long a word takes from the model that says it to a reader of server-sent events: by a lens node, on the embedded cloud. */
import { StepwellClient, isDelta } from '../lib/client/index.ts';
import { localKey } from '../lib/local/local-credentials.ts';
import type { BenchCloud } from './bench-cloud.ts';
import { slowLens, wordPauseMs, slowLensWorkflow } from './workflows.ts';
import { writesIn } from './write-times.ts';

/** Deltas in order of arrival, by index. */
interface ReceivedDelta {
  readonly index: number;
  readonly words: number;
  readonly at: number;
}

/** Latency of each word in milliseconds, including batching. The first word is not batched and is excluded. */
export async function measureWords(bench: BenchCloud, words: number): Promise<readonly number[]> {
  const { cloud } = bench;
  const { url } = cloud;
  if (url === undefined) throw new Error('the template has no API');
  await bench.publishLens(slowLens(words));
  await bench.publish(slowLensWorkflow);
  const runId = await bench.start(slowLensWorkflow, 'talking');
  const writtenAt: number[] = [];
  const stopListening = cloud.recorder.listen((call) => {
    for (const write of writesIn(call)) if (write.runId === runId && write.kind === 'delta') writtenAt.push(write.at);
  });
  const received: ReceivedDelta[] = [];
  try {
    for await (const update of new StepwellClient({ baseUrl: url, apiKey: localKey(cloud) }).watchRun(runId)) {
      if (!isDelta(update)) continue;
      const { deltaIndex: index, text } = update.payload;
      received.push({ index, words: text.trim().split(' ').length, at: Date.now() });
    }
  } finally {
    stopListening();
  }
  return received.flatMap((one) => timesOf(one, writtenAt[one.index - 1]));
}

/**
 * Only the worker knows when it produced a word. A word is later than the previous write, and one pause later than the previous word.
 * Each word counts as produced at the earliest possible time, at most one pause too early.
 */
const timesOf = ({ words, at }: ReceivedDelta, writtenBefore: number | undefined): readonly number[] =>
  writtenBefore === undefined
    ? []
    : Array.from({ length: words }, (_one, wordIndex) => at - (writtenBefore + wordIndex * wordPauseMs));
