/**
 * The examples and the workflows of code are run once more, with each port call answered twice: in memory, and by the adapters of
 * AWS over each implementation of DynamoDB that can hold a run. One history comes of it, and each answer on the way is the same.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { corpus } from '../simulation/corpus.ts';
import { type FixedWorkflow, crashRun } from '../simulation/crash-run.ts';
import type { WorkloadParts } from '../simulation/workload.ts';
import { type AwsPlaces, playedOn, startAwsPlaces } from './aws-places.ts';
import { mirrored } from './mirrored.ts';
import type { World } from '../../lib/ports/world.ts';

/** The topologies have their own histories on both (`topologies.test.ts`). */
const groups = Object.entries(corpus).filter(([group]) => group !== 'topologies');

/** @returns what was asked of the stores */
async function runOnBoth(fixed: FixedWorkflow, other: World): Promise<readonly string[]> {
  const calls: string[] = [];
  let around: WorkloadParts['around'] | undefined;
  const doubled: FixedWorkflow = {
    ...fixed,
    publish: (deps, parts) => {
      ({ around } = parts);
      return fixed.publish(deps, parts);
    },
  };
  const run = await crashRun(doubled, {
    planted: (world) =>
      mirrored(world, other, {
        hold: (work) => (around === undefined ? work : around.time.hold(work)),
        onCall: (name) => calls.push(name),
      }),
  });
  expect(run.came.status).not.toBe('running');
  return calls;
}

describe.each(playedOn)('on $name', (implementation) => {
  let places: AwsPlaces;
  beforeAll(async () => {
    places = await startAwsPlaces(implementation);
  });
  afterAll(() => places.close());

  describe.each(groups)('%s', (_group, workflows) => {
    test.each(workflows)('$name', async (fixed) => {
      const { world } = await places.open();
      expect(await runOnBoth(fixed, world)).toContain('log.create');
    });
  });

  test('an answer that differs is seen', async () => {
    const { world } = await places.open();
    const [fixed] = corpus['workflows of code'] ?? [];
    if (fixed === undefined) throw new Error('there is no workflow of code');
    const forgetful: World = {
      ...world,
      log: Object.assign(Object.create(world.log), { put: async () => ({ kind: 'stored' }) }),
    };
    await expect(runOnBoth(fixed, forgetful)).rejects.toThrow(/is not the same on AWS/);
  });
});
