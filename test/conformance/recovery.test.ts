/** Recovery does not change healthy runs: a delay of one day over 1,440 sweeps, a backlog of 45 minutes, and ended runs. */
import { expect, test } from 'vitest';
import { minutes } from '../../lib/engine/time.ts';
import type { RunActions } from './run-actions.ts';
import { createMemoryEnv } from './conformance-env.ts';
import { runTopology } from './run-topology.ts';
import { type Topology, finishedWith, names } from './topology.ts';

const unjudged = { description: '', verify: () => undefined };

test('sweeps in each minute of a 24-hour delay do not change it', async () => {
  let mended = 0;
  let looked = 0;
  const topology: Topology = {
    ...unjudged,
    name: 'day',
    edges: ['start -> nap -> a'],
    nodes: { nap: { type: 'delay', delayMinutes: 1_440 } },
    actions: async ({ start, advanceTime, sweep, finish }) => {
      await start();
      for (let minute = 1; minute < 1_440; minute += 1) {
        await advanceTime(minutes(1));
        const swept = await sweep();
        mended += swept.recovered;
        looked += swept.checked;
      }
      await finish();
    },
  };
  const { status, events, runsOf } = await runTopology(topology, await createMemoryEnv());
  expect([status, mended, runsOf('a')]).toEqual(['completed', 0, 1]);
  // One check after the start, and then none before the due time: a sleeping run causes no work.
  expect(looked).toBeGreaterThan(0);
  expect(looked).toBeLessThan(10);
  expect(events.map(({ type }) => type)).not.toContain('run.recovered');
});

test('the sweep wakes a delay whose timer was lost and reports the recovery', async () => {
  const topology: Topology = {
    ...unjudged,
    name: 'day',
    edges: ['start -> nap -> a'],
    nodes: { nap: { type: 'delay', delayMinutes: 1_440 } },
    actions: async ({ start, settle, loseMessages, advanceIdle, sweep, finish }) => {
      await start();
      await settle();
      await loseMessages();
      for (let minute = 0; minute < 1_439; minute += 1) {
        await advanceIdle(minutes(1));
        expect((await sweep()).recovered).toBe(0);
        // The sweep sets the timer again at its check; here that timer is lost too.
        await loseMessages();
      }
      for (let minute = 0; minute < 4; minute += 1) {
        await advanceIdle(minutes(1));
        await sweep();
      }
      await finish();
    },
  };
  const { status, of, runsOf } = await runTopology(topology, await createMemoryEnv());
  expect([status, runsOf('a')]).toEqual(['completed', 1]);
  expect(of('run.recovered')).toEqual([{ nodes: ['nap'] }]);
});

test('a backlog of 45 minutes before each message and before a wake fails no run and executes no node twice', async () => {
  const backlog = async ({ advanceIdle, sweep }: RunActions): Promise<void> => {
    for (let minute = 0; minute < 45; minute += 1) {
      await advanceIdle(minutes(1));
      await sweep();
    }
  };
  const topology: Topology = {
    ...unjudged,
    name: 'backlog',
    edges: ['start -> a -> nap -> b -> join', 'start -> c -> join', 'c -> d', 'join -> end'],
    nodes: { nap: { type: 'delay', delayMinutes: 5 } },
    actions: async (outside) => {
      await outside.start();
      await backlog(outside);
      await outside.settle();
      await backlog(outside);
      await outside.finish();
    },
  };
  const { status, of, attempts } = await runTopology(topology, await createMemoryEnv());
  expect([status, of('node.failed'), of('node.retried')]).toEqual(['completed', [], []]);
  const executed = attempts.map(({ node, attempt }) => `${node}#${attempt}`);
  expect(executed.toSorted()).toEqual(['a#1', 'b#1', 'c#1', 'd#1', 'join#1']);
  // The run reports two resends: of the first messages and of the wake.
  const told = of('run.recovered').flatMap(({ nodes }) => (Array.isArray(nodes) ? nodes : []));
  expect(new Set(told)).toEqual(new Set(['a', 'c', 'nap']));
});

test('branches with lost results are sent again, and the branch with a result is not', async () => {
  const branches = names(9, 'b');
  const topology: Topology = {
    ...unjudged,
    name: 'results',
    edges: branches.map((id) => `start -> ${id} -> join`),
    replies: {
      // The last job: the results of all others are in the queue by then.
      b8: async ({ actions }) => {
        await actions.loseMessages();
        return finishedWith('b8');
      },
    },
    actions: async ({ start, settle, advanceIdle, sweep, finish }) => {
      await start();
      await settle();
      for (let minute = 0; minute < 5; minute += 1) {
        await advanceIdle(minutes(1));
        await sweep();
      }
      await finish();
    },
  };
  const { status, of, runsOf } = await runTopology(topology, await createMemoryEnv());
  expect([status, runsOf('b8'), runsOf('join')]).toEqual(['completed', 1, 1]);
  expect(of('run.recovered')[0]).toEqual({ nodes: branches.slice(0, 8) });
  for (const branch of branches) expect([branch, of('node.completed', branch).length]).toEqual([branch, 1]);
});
