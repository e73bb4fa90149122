/** How long a word takes from the node that says it to a reader of server-sent events, on the embedded cloud. */
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import { StepwellClient, isDelta } from '../lib/client/index.ts';
import { localKey } from '../lib/local/local-key.ts';
import type { BenchCloud } from './bench-cloud.ts';
import { speakerIn } from './speaker.ts';
import { chain } from './workflows.ts';

const startedShape = z.looseObject({ runId: z.string() });
/** Not a part of the pause between two writes or two looks: words fall everywhere between them. */
const betweenWordsMs = 37;

/** Milliseconds of each word; it may wait for others, and travel with them. */
export async function measureWords(bench: BenchCloud, words: number): Promise<readonly number[]> {
  const { cloud } = bench;
  const { url } = cloud;
  if (url === undefined) throw new Error('the template has no API');
  const workflow = chain(1);
  await bench.publish(workflow);
  const apiKey = localKey(cloud);
  const answer = await fetch(`${url}/v1/runs`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', 'idempotency-key': 'speaking' },
    body: JSON.stringify({ workflowName: workflow.name, availableAt: new Date(Date.now() + 3_600_000).toISOString() }),
  });
  const { runId } = startedShape.parse(await answer.json());
  const client = new StepwellClient({ baseUrl: url, apiKey });
  const saidAt: number[] = [];
  const times: number[] = [];
  let isOpen = (): void => {};
  const opened = new Promise<void>((resolve) => (isOpen = resolve));
  const reading = (async () => {
    for await (const news of client.watchRun(runId)) {
      isOpen();
      if (!isDelta(news)) continue;
      const now = performance.now();
      const heard = news.payload.text.trim().split(' ').map(Number);
      times.push(...heard.map((word) => now - (saidAt[word] ?? now)));
    }
  })();
  await opened;
  const voice = speakerIn(cloud, runId, 'n1');
  for (let word = 0; word < words; word += 1) {
    saidAt.push(performance.now());
    voice.say(`${word} `);
    await wait(betweenWordsMs);
  }
  await voice.end();
  while (times.length < words) await wait(50);
  await client.cancelRun(runId);
  await reading;
  return times;
}
