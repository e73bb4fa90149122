/** Pages of a timeline. */
import { expect, test } from 'vitest';
import type { AttemptRow } from '../../../lib/engine/log/timeline.ts';
import { getTimeline } from '../../../lib/service/runs/get-timeline.ts';
import { createTestEnv, failing, finished, workflow } from '../test-env.ts';

const finishedLoop = async () => {
  const answer = (node: string, attempt: number) => (node === 'b' && attempt === 1 ? failing() : finished(node));
  const env = createTestEnv({ answer });
  await env.publish(workflow('flow', 'a>l l/loop>b l/done>d', { l: { items: 4 }, b: { retry: { attempts: 2 } } }));
  const run = await env.begin('flow');
  await env.settle();
  return { env, run };
};

test('has each attempt and each iteration, with its times and end', async () => {
  const { env, run } = await finishedLoop();
  const found = await getTimeline(env.deps, run, { after: 0, limit: 1_000, parseTime: Date.parse });
  if (found.kind !== 'found') throw new Error(found.kind);
  const { state } = await env.fold(run);
  expect([found.hasMore, found.last]).toEqual([false, state.nextEventId - 1]);
  const shown = found.rows.map(({ nodeId, iteration = '', attempt, status }) => `${nodeId}@${iteration}#${attempt} ${status}`);
  expect(shown).toHaveLength(3 + 4 * 3);
  expect(shown).toEqual(
    expect.arrayContaining(['a@#1 completed', 'b@l[2]#1 failed', 'b@l[2]#2 completed', 'l@l[2]#0 completed', 'l@#1 completed']),
  );
  for (const { queued = 0, started = Infinity, ended = 0 } of found.rows) {
    expect(started).toBeGreaterThanOrEqual(queued);
    expect(ended).toBeGreaterThanOrEqual(started);
  }
});

test('pages by any size have the same rows, each once, and end at the end of the log', async () => {
  const { env, run } = await finishedLoop();
  const whole = await getTimeline(env.deps, run, { after: 0, limit: 1_000, parseTime: Date.parse });
  if (whole.kind !== 'found') throw new Error(whole.kind);
  for (const limit of [1, 2, 7]) {
    const rows: AttemptRow[] = [];
    let after = 0;
    for (let hasMore = true; hasMore;) {
      const page = await getTimeline(env.deps, run, { after, limit, parseTime: Date.parse });
      if (page.kind !== 'found') throw new Error(page.kind);
      rows.push(...page.rows);
      ({ hasMore } = page);
      after = page.last;
    }
    expect(rows).toEqual(whole.rows);
    expect(after).toBe(whole.last);
  }
});
