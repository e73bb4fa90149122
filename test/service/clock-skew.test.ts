/** Sleeps on workers whose clocks are five minutes ahead or behind. */
import { expect, test } from 'vitest';
import { nodeId, nodeKey, topLevel } from '../../lib/engine/ids.ts';
import { type DurationMs, type Instant, instant, minutes } from '../../lib/engine/time.ts';
import { FoldCache } from '../../lib/service/run-log/fold-cache.ts';
import { type TestEnv, createTestEnv, workflow } from './test-env.ts';

/** A worker whose clock differs from that of the ports. */
const workerAt = ({ worker, ports }: TestEnv, skewMs: number) => ({
  ...worker,
  foldCache: new FoldCache(),
  deps: {
    ...worker.deps,
    clock: {
      now: (): Instant => instant(ports.clock.now() + skewMs),
      sleep: (wait: DurationMs, signal?: AbortSignal) => ports.clock.sleep(wait, signal),
    },
  },
});

const behindMs = -300_000;
const sleeper = nodeKey({ nodeId: nodeId('z'), iteration: topLevel });

const startSleepingRun = async () => {
  const own = createTestEnv();
  await own.publish(workflow('naps', 'a>z z>b', { z: { ms: minutes(10) } }));
  const run = await own.begin('naps');
  for (const job of own.ports.jobs.takeSent()) await own.take(job, { worker: own.worker });
  const state = (await own.fold(run)).state.nodes.get(sleeper);
  if (state?.status !== 'waiting' || state.for !== 'time') throw new Error(`it is ${state?.status}`);
  const wake = () => {
    const [job] = own.ports.jobs.takeDue();
    if (job === undefined) throw new Error('no wake is due');
    return job;
  };
  return { own, run, wakeAt: state.wakeAt, wake, statusOf: async () => (await own.fold(run)).state.nodes.get(sleeper)?.status };
};

test('a wake-up that a slow clock sees as early waits again, and then wakes the node once', async () => {
  const { own, wakeAt, wake, statusOf } = await startSleepingRun();
  own.ports.clock.set(wakeAt);
  await own.take(wake(), { worker: workerAt(own, behindMs) });
  expect(await statusOf()).toBe('waiting');
  own.ports.clock.advance(minutes(5));
  await own.take(wake(), { worker: workerAt(own, behindMs) });
  expect(await statusOf()).toBe('completed');
  expect(own.attempts).toEqual(['a#1', 'b#1']);
});

test('a fast clock wakes a node early by no more than its offset, and the later timer changes nothing', async () => {
  const { own, run, wakeAt, statusOf } = await startSleepingRun();
  const [delayed] = own.ports.jobs.delayed;
  if (delayed === undefined) throw new Error('no wake is set');
  own.ports.clock.set(instant(wakeAt - minutes(6)));
  await own.take(delayed.job, { worker: workerAt(own, minutes(5)) });
  expect(await statusOf()).toBe('waiting');
  own.ports.clock.set(instant(wakeAt - minutes(5)));
  await own.take(delayed.job, { worker: workerAt(own, minutes(5)) });
  expect(await statusOf()).toBe('completed');
  const before = (await own.fold(run)).state.asOf;
  own.ports.clock.set(wakeAt);
  await own.take(delayed.job, { worker: own.worker });
  expect((await own.fold(run)).state.asOf).toBe(before);
});
