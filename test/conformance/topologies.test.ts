/** Every topology gives the same list of public events in memory and on the adapters of AWS: the one that is kept. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AwsPlaces, startAwsPlaces } from './aws-places.ts';
import { goldenNames, isWriting, readGolden, writeGolden } from './golden.ts';
import { linesOf } from './lines.ts';
import { memoryPlace } from './place.ts';
import { play } from './play.ts';
import type { Story } from './story.ts';
import { allTopologies } from './topologies/all.ts';

const cases = allTopologies.map((topology) => [topology.name, topology] as const);

/** A node in its pass. */
const placeOf = ({ payload: { nodeId, iteration } }: Story['events'][number]) => JSON.stringify([nodeId, iteration]);

/** What holds of every run that has ended, whatever its shape. */
const expectSound = ({ events, status, attempts }: Story): void => {
  const ends = events.filter(({ type }) => /^run\.(completed|failed|cancelled|timed_out)$/.test(type));
  expect(ends).toEqual(events.slice(-1));
  expect(['completed', 'failed', 'cancelled']).toContain(status);
  const executed = attempts.map(({ node, iteration, attempt }) => `${node}@${iteration}#${attempt}`);
  expect(executed).toEqual([...new Set(executed)]);
  const endings = events.filter(({ type }) => /^node\.(completed|failed|timed_out|skipped)$/.test(type)).map(placeOf);
  expect(endings).toEqual([...new Set(endings)]);
  const dispatched = events.filter(({ type }) => type === 'node.queued').map(placeOf);
  expect(dispatched).toEqual([...new Set(dispatched)]);
};

describe('in memory', () => {
  test.each(cases)('%s', async (name, topology) => {
    const story = await play(topology, await memoryPlace());
    topology.holds(story);
    expectSound(story);
    if (isWriting) writeGolden(name, linesOf(story.events));
    expect(linesOf(story.events)).toEqual(readGolden(name));
  });
});

describe('on the adapters of AWS', () => {
  let places: AwsPlaces;
  beforeAll(async () => {
    places = await startAwsPlaces();
  });
  afterAll(() => places.close());

  test.each(cases)('%s', async (name, topology) => {
    const story = await play(topology, await places.open());
    topology.holds(story);
    expectSound(story);
    expect(linesOf(story.events)).toEqual(readGolden(name));
  });
});

describe('with every message delivered twice', () => {
  test.each(cases)('%s', async (name, topology) => {
    const story = await play(topology, await memoryPlace(), true);
    expect(linesOf(story.events)).toEqual(readGolden(name));
  });
});

test('each topology has a name of its own, and each golden file is of one', () => {
  expect(goldenNames()).toEqual(allTopologies.map(({ name }) => name).toSorted());
});
