/** A reader of a running run that disconnects after each event and delta, and reconnects five hundred times. */
import { expect, test } from 'vitest';
import { attempt, nodeId, nodeKey, nonce, topLevel } from '../../lib/engine/ids.ts';
import { publicEvents } from '../../lib/engine/log/public-event.ts';
import type { NodeJob, ResultMessage } from '../../lib/ports/jobs.ts';
import { byRun } from '../../lib/service/execution/collect-results.ts';
import { beginFollowing } from '../../lib/service/watching/follow-run.ts';
import { watchRun } from '../../lib/service/watching/watch-run.ts';
import { expiresAt } from '../contract/samples.ts';
import { createTestEnv, workflow } from './test-env.ts';
import { nextWithTime } from './next-with-time.ts';

const speaker = nodeKey({ nodeId: nodeId('talk'), iteration: topLevel });
const words = 60;

test('a reconnecting reader misses nothing and sees nothing twice while a node streams output', async () => {
  const env = createTestEnv();
  const { jobs, clock, log, streams } = env.ports;
  await env.publish(workflow('flow', 'a>talk a>l l/loop>b l/done>d', { l: { items: 200, concurrency: 12 } }));
  const run = await env.begin('flow');
  for (const job of jobs.takeSent()) await env.take(job);

  const pending: NodeJob[] = [];
  const results: ResultMessage[] = [];
  let emitted = 0;
  const say = (): Promise<unknown> => {
    const delta = { index: emitted, attempt: attempt(1), owner: nonce('a'), text: `word ${emitted} `, at: clock.now() };
    emitted += 1;
    return streams.put(run, speaker, delta, expiresAt);
  };
  /** An iteration, its result, or a delta. The streaming node is last. */
  const goOn = async (isWord: boolean): Promise<void> => {
    pending.push(...jobs.takeSent());
    results.push(...jobs.takeResults());
    const [job] = pending.filter((job) => job.nodeId !== 'talk').concat(pending);
    if (isWord && emitted < words) await say();
    else if (results.length > 0) {
      await env.collect(byRun(results.splice(0, 1).map((result) => ({ result, isRedelivered: false }))));
    } else if (job !== undefined && (job.nodeId !== 'talk' || emitted === words)) {
      pending.splice(pending.indexOf(job), 1);
      await env.take(job);
    }
  };

  const events: number[] = [];
  const received: number[] = [];
  /** Reads up to the first new item. @returns whether there was one. Deltas of an open node are repeated from index 0. */
  const comeBack = async (): Promise<boolean> => {
    const followed = await beginFollowing(env.deps, run);
    if (followed === undefined) throw new Error('no such run');
    const from = watchRun(env.deps, followed, events.at(-1) ?? 0, async () => true);
    for (let index = 0; ; index += 1) {
      const { value } = await nextWithTime(env, from);
      if (value?.kind === 'event') events.push(value.event.eventId);
      if (value?.kind === 'delta') {
        expect(value.delta.payload['deltaIndex']).toBe(index);
        if (index < received.length) continue;
        received.push(index);
      }
      await from.return();
      return value?.kind === 'event' || value?.kind === 'delta';
    }
  };

  const isAtWork = async () => (await env.fold(run)).state.progress.status !== 'completed';
  let times = 0;
  for (; await isAtWork(); times += 1) if (!(await comeBack())) await goOn(times % 3 === 0);
  expect(times).toBeGreaterThan(500);
  expect(events.length).toBeGreaterThan(400);
  expect(received).toEqual(Array.from({ length: words }, (_, index) => index));
  while (await comeBack());
  const head = await log.head(run);
  if (head === undefined) throw new Error('no such run');
  const commits = [head.commit, ...(await log.commitsAfter(run, head.commit.number))];
  expect(events).toEqual(commits.flatMap((commit) => publicEvents(head, commit)).map(({ eventId }) => eventId));
});
