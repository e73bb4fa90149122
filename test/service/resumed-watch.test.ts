/** A reader of a running run that reconnects after each event and each delta, some hundred times. */
import { expect, test } from 'vitest';
import { attempt, nodeId, nodeKey, nonce, topLevel } from '../../lib/engine/ids.ts';
import { publicEvents } from '../../lib/engine/log/public-event.ts';
import type { NodeJob, ResultMessage } from '../../lib/ports/jobs.ts';
import { byRun } from '../../lib/service/execution/collect-results.ts';
import { beginFollowing, followRun } from '../../lib/service/watching/follow-run.ts';
import { watchRun } from '../../lib/service/watching/watch-run.ts';
import { expiresAt } from '../contract/samples.ts';
import { inTier } from '../tier.ts';
import { createTestEnv, workflow } from './test-env.ts';
import { nextWithTime } from './next-with-time.ts';

const speaker = nodeKey({ nodeId: nodeId('talk'), iteration: topLevel });
const words = 60;
const items = inTier({ quick: 80, deep: 200 });

test('misses nothing and sees nothing twice while a node writes deltas', async () => {
  const home = createTestEnv();
  const { jobs, clock, log, streams } = home.ports;
  await home.publish(workflow('flow', 'a>talk a>l l/loop>b l/done>d', { l: { items, concurrency: 12 } }));
  const run = await home.begin('flow');
  for (const job of jobs.takeSent()) await home.take(job);

  const asked: NodeJob[] = [];
  const results: ResultMessage[] = [];
  let said = 0;
  const say = (): Promise<unknown> => {
    const delta = { index: said, attempt: attempt(1), owner: nonce('a'), text: `word ${said} `, at: clock.now() };
    said += 1;
    return streams.put(run, speaker, delta, expiresAt);
  };
  /** A pass, its result, or a word. The node that speaks comes last. */
  const goOn = async (isWord: boolean): Promise<void> => {
    asked.push(...jobs.takeSent());
    results.push(...jobs.takeResults());
    const [pass] = asked.filter((job) => job.nodeId !== 'talk').concat(asked);
    if (isWord && said < words) await say();
    else if (results.length > 0) {
      await home.collect(byRun(results.splice(0, 1).map((result) => ({ result, isRedelivered: false }))));
    } else if (pass !== undefined && (pass.nodeId !== 'talk' || said === words)) {
      asked.splice(asked.indexOf(pass), 1);
      await home.take(pass);
    }
  };

  const events: number[] = [];
  const heard: number[] = [];
  /** Reads up to the first new item. @returns whether there was one. Deltas of an open node repeat from index 0. */
  const comeBack = async (): Promise<boolean> => {
    const followed = await beginFollowing(home.deps, run);
    if (followed === undefined) throw new Error('no such run');
    const from = watchRun(home.deps, followRun(home.deps, followed, events.at(-1) ?? 0), async () => true);
    for (let index = 0; ; index += 1) {
      const { value } = await nextWithTime(home, from);
      if (value?.kind === 'event') events.push(value.event.eventId);
      if (value?.kind === 'delta') {
        expect(value.delta.payload['deltaIndex']).toBe(index);
        if (index < heard.length) continue;
        heard.push(index);
      }
      await from.return();
      return value?.kind === 'event' || value?.kind === 'delta';
    }
  };

  const isAtWork = async () => (await home.fold(run)).state.progress.status !== 'completed';
  let times = 0;
  for (; await isAtWork(); times += 1) if (!(await comeBack())) await goOn(times % 3 === 0);
  expect(times).toBeGreaterThan(2.5 * items);
  expect(events.length).toBeGreaterThan(2 * items);
  expect(heard).toEqual(Array.from({ length: words }, (_, index) => index));
  while (await comeBack());
  const head = await log.head(run);
  if (head === undefined) throw new Error('no such run');
  const commits = [head.commit, ...(await log.commitsAfter(run, head.commit.number))];
  expect(events).toEqual(commits.flatMap((commit) => publicEvents(head, commit)).map(({ eventId }) => eventId));
});
