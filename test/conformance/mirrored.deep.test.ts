/**
 * Runs the examples and the code workflows with each port call made twice: to the memory stores and to the AWS adapters over
 * each DynamoDB implementation that can run them. Both must give the same responses and one history.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { corpus } from '../simulation/corpus.ts';
import { type FixedWorkflow, crashRun } from '../simulation/crash-run.ts';
import { noFaults } from '../simulation/faults.ts';
import { seeds } from '../simulation/seeds.ts';
import { type SimulationOptions, simulate } from '../simulation/simulation.ts';
import { type AwsEnvs, testedImplementations, startAwsEnvs } from './aws-envs.ts';
import { mirrored } from './mirrored.ts';
import type { Ports } from '../../lib/ports/ports.ts';

/** The topologies have their own histories on both (`topologies.test.ts`). */
const groups = Object.entries(corpus).filter(([group]) => group !== 'topologies');

/** @returns the names of all store calls */
function onBoth(other: Ports) {
  const calls: string[] = [];
  const planted: SimulationOptions['planted'] = (world, time) =>
    mirrored(world, other, { hold: (work) => time.hold(work), onCall: (name) => calls.push(name) });
  return { calls, planted };
}

async function runOnBoth(fixed: FixedWorkflow, other: Ports): Promise<readonly string[]> {
  const { calls, planted } = onBoth(other);
  expect((await crashRun(fixed, { planted })).result.status).not.toBe('running');
  return calls;
}

describe.each(testedImplementations)('on $name', (implementation) => {
  let places: AwsEnvs;
  const asked = new Set<string>();
  beforeAll(async () => {
    places = await startAwsEnvs(implementation);
  });
  afterAll(() => places.close());

  describe.each(groups)('%s', (_group, workflows) => {
    test.each(workflows)('$name', async (fixed) => {
      const { ports } = await places.open();
      expect(await runOnBoth(fixed, ports)).toContain('log.create');
    });
  });

  test.each(seeds(10))('random workflows of seed %i with their clients', async (seed) => {
    const { ports } = await places.open();
    const { calls, planted } = onBoth(ports);
    expect((await simulate({ seed, rates: noFaults, planted })).commits).toBeGreaterThan(0);
    for (const name of calls) asked.add(name);
  });

  test('the runs call all methods that change and show runs', () => {
    const wanted = [
      'log.put',
      'log.snapshot',
      'index.list',
      'index.listByState',
      'index.dueIn',
      'signals.claim',
      'deployments.pointer',
    ];
    expect([...asked]).toEqual(expect.arrayContaining(wanted));
  });

  test('a different response is detected', async () => {
    const { ports } = await places.open();
    const [fixed] = corpus['workflows of code'] ?? [];
    if (fixed === undefined) throw new Error('the corpus has no code workflow');
    const forgetful: Ports = {
      ...ports,
      log: Object.assign(Object.create(ports.log), { put: async () => ({ kind: 'stored' }) }),
    };
    await expect(runOnBoth(fixed, forgetful)).rejects.toThrow(/is not the same on AWS/);
  });
});
