/** Loops and their complete logs, which are the same on every store. The expected logs are in `loop-logs.json`. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { firstCommit, nodeKey } from '../../lib/engine/ids.ts';
import type { JsonObject } from '../../lib/engine/json.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { failing, finished, createTestEnv, workflow } from '../service/test-env.ts';
import type { Subject } from './subject.ts';

/** `l` is a loop. Nodes that begin with `f` fail, with `c` branch, with `z` sleep. */
const loops: Readonly<Record<string, readonly [drawn: string, configs: Record<string, JsonObject>]>> = {
  'one after the other': ['a>l l/loop>b l/done>d', { l: { items: 2 } }],
  'two at a time': ['a>l l/loop>b l/done>d', { l: { items: 3, concurrency: 2 } }],
  'no items': ['a>l l/loop>b l/done>d', { l: { items: 0 } }],
  'a loop in a loop': [
    'a>l l/loop>l2 l2/loop>b l2/done>s1 l/done>d',
    { l: { items: 2 }, l2: { items: 2 }, s1: { name: 'signal-0', ms: 20_000, continues: true } },
  ],
  'an item that fails': ['a>l l/loop>f l/done>d l/error>r', { l: { items: 2 } }],
  'items that fail and a loop that continues': ['a>l l/loop>f l/done>d', { l: { items: 2, continues: true } }],
  'a failure that an error edge of the body takes': ['a>l l/loop>f f/error>m l/done>d', { l: { items: 2 } }],
  'an edge back': ['a>l l/loop>b b>l l/done>d', { l: { items: 2 } }],
  'a join in the body': ['a>l l/loop>b l/loop>g b>j g>j l/done>d', { l: { items: 2, concurrency: 2 } }],
  'a choice in the body': ['a>l l/loop>c c/left>b c/right>g b>j g>j l/done>d', { l: { items: 2 }, c: { takes: 'left' } }],
  'a sleep in the body': ['a>l l/loop>z z>b l/done>d', { l: { items: 2 }, z: { ms: 20_000 } }],
  'a wait between items': ['a>l l/loop>b l/done>d', { l: { items: 3, delayMs: 30_000 } }],
};

const logs = z
  .record(z.string(), z.array(z.string()))
  .parse(JSON.parse(readFileSync(new URL('loop-logs.json', import.meta.url), 'utf8')));

const describeEvent = (event: RunEvent): string => {
  if (!('nodeId' in event)) return event.type;
  return `${event.type} ${nodeKey(event)}${'index' in event ? `[${event.index}]` : ''}`;
};

/** @param subject the ports under test; all others are in memory */
export const loopsSuite = (subject: Subject<Pick<Deps, 'log' | 'index'> | undefined>): void => {
  describe(`loops on ${subject.name}`, () => {
    it.each(Object.entries(loops))('%s', async (name, [drawn, configs]) => {
      const { port, close } = await subject.open();
      const home = createTestEnv({
        answer: (node) => (node.startsWith('f') ? failing('invalid') : finished(node)),
        ...(port === undefined ? {} : { wrap: (deps: Deps) => ({ ...deps, ...port }) }),
      });
      await home.publish(workflow('flow', drawn, configs));
      const run = await home.begin('flow');
      await home.settle();
      const head = await home.deps.log.head(run);
      const commits = head === undefined ? [] : [head.commit, ...(await home.deps.log.commitsAfter(run, firstCommit))];
      expect(commits.flatMap(({ events }) => events.map(describeEvent))).toEqual(logs[name]);
      await close();
    });
  });
};
