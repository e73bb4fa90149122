/** Every topology gives its golden list of public events, in memory and on the AWS adapters: there in the quick tier one of six. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { inTier } from '../tier.ts';
import { type AwsEnvs, testedImplementations, startAwsEnvs } from './aws-envs.ts';
import { goldenNames, isWriting, readGolden, writeGolden } from './golden.ts';
import { goldenLines } from './golden-lines.ts';
import { createMemoryEnv } from './conformance-env.ts';
import { runTopology } from './run-topology.ts';
import type { PublicEvent } from '../../lib/engine/log/public-event.ts';
import type { RunRecord } from './run-record.ts';
import { allTopologies } from './topologies/all.ts';

const cases = allTopologies.map((topology) => [topology.name, topology] as const);

/** Each has tables and queues of its own, which take longer than its run. The deep tier runs those that the quick one leaves out. */
const casesOnAws = cases.filter((_, index) => (index % 6 === 0) === inTier({ quick: true, deep: false }));

const nodeIn = ({ payload }: PublicEvent): string => JSON.stringify([payload['nodeId'], payload['iteration']]);

/** Properties of every ended run. */
const expectSound = ({ events, status, attempts, called }: RunRecord): void => {
  for (const each of called) expectSound(each);
  const ends = events.filter(({ type }) => /^run\.(completed|failed|cancelled|timed_out)$/.test(type));
  expect(ends).toEqual(events.slice(-1));
  expect(['completed', 'failed', 'cancelled']).toContain(status);
  const executed = attempts.map(({ node, iteration, attempt }) => `${node}@${iteration}#${attempt}`);
  expect(executed).toEqual([...new Set(executed)]);
  const endings = events
    .filter(({ type }) => /^node\.(completed|failed|timed_out|blocked|invalidated|skipped)$/.test(type))
    .map(nodeIn);
  expect(endings).toEqual([...new Set(endings)]);
  const dispatched = events.filter(({ type }) => type === 'node.queued').map(nodeIn);
  expect(dispatched).toEqual([...new Set(dispatched)]);
};

describe('in memory', () => {
  test.each(cases)('%s', async (name, topology) => {
    const story = await runTopology(topology, await createMemoryEnv());
    topology.verify(story);
    expectSound(story);
    if (isWriting) writeGolden(name, goldenLines(story));
    expect(goldenLines(story)).toEqual(readGolden(name));
  });
});

describe.each(testedImplementations)('on the adapters of AWS, over $name', (implementation) => {
  let places: AwsEnvs;
  beforeAll(async () => {
    places = await startAwsEnvs(implementation);
  });
  afterAll(() => places.close());

  test.each(casesOnAws)('%s', async (name, topology) => {
    const story = await runTopology(topology, await places.open());
    topology.verify(story);
    expectSound(story);
    expect(goldenLines(story)).toEqual(readGolden(name));
  });
});

describe('with every message delivered twice', () => {
  test.each(cases)('%s', async (name, topology) => {
    const story = await runTopology(topology, await createMemoryEnv(), true);
    expect(goldenLines(story)).toEqual(readGolden(name));
  });
});

test('topology names are unique, and each golden file belongs to a topology', () => {
  expect(goldenNames()).toEqual(allTopologies.map(({ name }) => name).toSorted());
});
