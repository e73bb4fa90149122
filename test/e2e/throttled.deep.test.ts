/** A burst at the account's concurrency: invocations are throttled, receive counts grow, and every run completes. */
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

const runs = 24;
const accountConcurrency = 3;
/** In AWS a throttled message stays invisible for its visibility timeout, which the template sets to 960 s. */
const throttledVisibilityMs = 2_000;

const script = { code: 'const until = Date.now() + 100; while (Date.now() < until); return ctx.input.at' };
const workflow = {
  name: 'burst',
  nodes: [
    { id: 'start', type: 'start' },
    { id: 'one', type: 'javascript', config: script },
    { id: 'nap', type: 'delay', config: { delayMs: 50 } },
    { id: 'other', type: 'javascript', config: script },
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: 'one' },
    { source: 'one', target: 'nap' },
    { source: 'nap', target: 'other' },
    { source: 'other', target: 'end' },
  ],
};
const runShape = z.looseObject({ runId: z.string(), status: z.string() });

/** Requests are throttled too, and their callers retry. */
async function patiently(cloud: InProcessCloud, ...request: Parameters<InProcessCloud['call']>): Promise<unknown> {
  for (;;) {
    const { status, body } = await cloud.call(...request);
    if (status < 500) return body;
    await wait(100);
  }
}

test(`${runs} runs complete where ${accountConcurrency} invocations may run at once`, { timeout: 300_000 }, async () => {
  const cloud = await startInProcessCloud(undefined, undefined, 8, { accountConcurrency, throttledVisibilityMs });
  try {
    let throttles = 0;
    const receives = new Map<string, number>();
    cloud.cloud.recorder.listen(({ caller, operation, response }) => {
      if (operation === 'Throttle') throttles += 1;
      if (caller !== 'pollers' || operation !== 'ReceiveMessage') return;
      for (const [, id] of response.toString('utf8').matchAll(/"MessageId":"([^"]+)"/g))
        receives.set(id ?? '', (receives.get(id ?? '') ?? 0) + 1);
    });
    await patiently(cloud, 'POST', '/v1/workflows', workflow);
    const started = await Promise.all(
      Array.from({ length: runs }, async (_, at) => {
        const body = { workflowName: workflow.name, input: { at } };
        return runShape
          .pick({ runId: true })
          .parse(await patiently(cloud, 'POST', '/v1/runs', body, { 'idempotency-key': `${at}` }));
      }),
    );
    const left = new Set(started.map(({ runId }) => runId));
    expect(left.size).toBe(runs);
    const began = Date.now();
    while (left.size > 0 && Date.now() - began < 240_000) {
      await wait(500);
      for (const runId of left) {
        const { status } = runShape.parse(await patiently(cloud, 'GET', `/v1/runs/${runId}`));
        expect(status, runId).toMatch(/pending|running|completed/);
        if (status === 'completed') left.delete(runId);
      }
    }
    expect([...left]).toEqual([]);
    expect(throttles).toBeGreaterThan(runs);
    // Only the account's concurrency caused repeated receives.
    expect(Math.max(...receives.values())).toBeGreaterThan(2);
  } finally {
    await cloud.stop();
  }
});
