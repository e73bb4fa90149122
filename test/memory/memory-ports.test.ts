import { expect, test } from 'vitest';
import { after, durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import { memoryPorts } from '../../lib/memory/memory-ports.ts';
import { nodeJob } from '../contract/jobs.suite.ts';
import { freshRun, noon } from '../contract/samples.ts';

const recheck = () => ({ kind: 'recheck', run: freshRun() }) as const;

test('the same seed gives the same ids, and another seed gives others', () => {
  const drawn = (seed: number) => {
    const { ids } = memoryPorts({ seed });
    return Array.from({ length: 20 }, () => [ids.runId(noon), ids.nonce(), ids.random()]);
  };
  expect(drawn(7)).toEqual(drawn(7));
  expect(drawn(7)).not.toEqual(drawn(8));
});

test('two sets of ports share no state', async () => {
  const [one, other] = [memoryPorts(), memoryPorts()];
  await one.jobs.send([nodeJob()]);
  await one.index.recordSweptMinute(5);
  expect(other.jobs.sent).toEqual([]);
  expect(await other.index.sweptMinute()).toBeUndefined();
});

test('time changes only when it is advanced, and sleepers wake in the order of their times', async () => {
  const { clock } = memoryPorts({ startAt: noon });
  const woken: number[] = [];
  const sleepers = [3, 1, 2].map((count) => clock.sleep(minutes(count)).then(() => woken.push(count)));
  expect(clock.now()).toBe(noon);
  expect(clock.nextWakeAt()).toBe(after(noon, minutes(1)));
  clock.advance(durationMs(minutes(1) - 1));
  await Promise.resolve();
  expect(woken).toEqual([]);
  clock.advance(minutes(3));
  await Promise.all(sleepers);
  expect(woken).toEqual([1, 2, 3]);
  expect(clock.nextWakeAt()).toBeUndefined();
});

test('due delayed jobs are taken once, the earliest first', async () => {
  const { clock, jobs } = memoryPorts({ startAt: noon });
  const [late, early] = [recheck(), recheck()];
  await jobs.sendDelayed(late, seconds(20));
  await jobs.sendDelayed(early, durationMs(9_001));
  expect(jobs.takeDue()).toEqual([]);
  clock.advance(seconds(9));
  expect(jobs.takeDue()).toEqual([]);
  clock.advance(seconds(30));
  expect(jobs.takeDue()).toEqual([early, late]);
  expect(jobs.takeDue()).toEqual([]);
});

test('a taken timer fires once, and its name is free again', async () => {
  const { clock, timers } = memoryPorts({ startAt: noon });
  const [first, second] = [recheck(), recheck()];
  await timers.set({ name: 'wake', at: after(noon, minutes(20)), job: first });
  clock.advance(minutes(20));
  expect(timers.takeDue().map(({ job }) => job)).toEqual([first]);
  expect(timers.takeDue()).toEqual([]);
  await timers.set({ name: 'wake', at: after(noon, minutes(30)), job: second });
  expect(timers.pending().map(({ job }) => job)).toEqual([second]);
});
