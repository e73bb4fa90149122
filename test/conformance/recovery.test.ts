/** What recovery leaves alone: a sleep of a day behind 1,440 sweeps, a backlog of 45 minutes, and what has ended. */
import { expect, test } from 'vitest';
import { minutes } from '../../lib/engine/time.ts';
import { memoryPlace } from './place.ts';
import { play } from './play.ts';
import { type Topology, done } from './topology.ts';

const unjudged = { says: '', holds: () => undefined };

test('a delay of 24 hours is looked at and left untouched by a sweep in each of its minutes', async () => {
  let mended = 0;
  let looked = 0;
  const topology: Topology = {
    ...unjudged,
    name: 'day',
    edges: ['start -> nap -> a'],
    nodes: { nap: { type: 'delay', delayMinutes: 1_440 } },
    outside: async ({ start, pass, sweep, finish }) => {
      await start();
      for (let minute = 1; minute < 1_440; minute += 1) {
        await pass(minutes(1));
        const swept = await sweep();
        mended += swept.mended;
        looked += swept.looked;
      }
      await finish();
    },
  };
  const { status, events, runsOf } = await play(topology, await memoryPlace());
  expect([status, mended, runsOf('a')]).toEqual(['completed', 0, 1]);
  // Seen once behind its start, and then not before it is due: a sleeper costs nothing.
  expect(looked).toBeGreaterThan(0);
  expect(looked).toBeLessThan(10);
  expect(events.map(({ type }) => type)).not.toContain('run.recovered');
});

test('the same delay is woken by the sweep where its timer was lost, and that is told', async () => {
  const topology: Topology = {
    ...unjudged,
    name: 'day',
    edges: ['start -> nap -> a'],
    nodes: { nap: { type: 'delay', delayMinutes: 1_440 } },
    outside: async ({ start, settle, lose, idle, sweep, finish }) => {
      await start();
      await settle();
      await lose();
      for (let minute = 0; minute < 1_439; minute += 1) {
        await idle(minutes(1));
        expect((await sweep()).mended).toBe(0);
        // The sweep sets the timer again where it looks; here that is lost too.
        await lose();
      }
      for (let minute = 0; minute < 4; minute += 1) {
        await idle(minutes(1));
        await sweep();
      }
      await finish();
    },
  };
  const { status, of, runsOf } = await play(topology, await memoryPlace());
  expect([status, runsOf('a')]).toEqual(['completed', 1]);
  expect(of('run.recovered')).toEqual([{ nodes: ['nap'] }]);
});

test('a backlog of 45 minutes between any two nodes fails no run, and executes nothing again', async () => {
  const nodes = ['a', 'b', 'c', 'join'];
  for (const late of nodes) {
    const topology: Topology = {
      ...unjudged,
      name: 'backlog',
      edges: ['start -> a -> b -> join', 'a -> c -> join', 'join -> end'],
      replies: {
        [late]: async ({ outside }) => {
          // Nobody else is at work meanwhile, and the sweep looks at everything.
          for (let minute = 0; minute < 45; minute += 1) {
            await outside.idle(minutes(1));
            await outside.sweep();
          }
          return done(late);
        },
      },
      nodes: { [late]: { timeoutSeconds: 840 } },
    };
    const { status, of, attempts } = await play(topology, await memoryPlace());
    const ended = of('node.completed').map(({ nodeId }) => nodeId);
    expect([late, status, ended.length, new Set(ended).size]).toEqual([late, 'completed', 6, 6]);
    expect(of('node.failed')).toEqual([]);
    for (const { node, attempt } of attempts) expect([node, attempt]).toEqual([node, 1]);
    expect(
      attempts
        .filter(({ node }) => node !== late)
        .map(({ node }) => node)
        .toSorted(),
    ).toEqual(nodes.filter((node) => node !== late).toSorted());
  }
});
