/**
 * A process with several slots crashes at each of its writes, before or after it, while all slots claim and work. After their
 * leases expire, another process claims its runs: each run ends once, and no completed step runs again.
 */
import { expect, test } from 'vitest';
import { minutes } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import type { WorkflowRun } from '../../lib/openworkflow/backend/contract.ts';
import { noon } from '../contract/samples.ts';
import { TestBackend } from './test-backend.ts';
import { type CrashPoint, StoreCrashed, crashingStore } from './crashing-store.ts';

const runs = 6;
const slots = 4;

/** One round of a worker: every free slot claims a run and works on it. */
async function round(testBackend: TestBackend, name: string): Promise<number> {
  const workers = Array.from({ length: slots }, (_, slot) => `${name}${slot}`);
  const worked = await Promise.allSettled(
    workers.map(async (worker) => {
      const run = await testBackend.claim(worker);
      if (run !== null) await play(testBackend, run, worker);
      return run === null ? 0 : 1;
    }),
  );
  return worked.reduce((sum, each) => {
    if (each.status === 'fulfilled') return sum + each.value;
    throw each.reason;
  }, 0);
}

async function play(testBackend: TestBackend, run: WorkflowRun, worker: string): Promise<void> {
  const { data } = await testBackend.backend.listStepAttempts({ workflowRunId: run.id });
  const begun = data.find(({ stepName }) => stepName === 'only');
  const step = begun ?? (await testBackend.step(run.id, { stepName: 'only', workerId: worker }));
  if (step.status !== 'completed') {
    const stepRef = { workflowRunId: run.id, workerId: worker, stepAttemptId: step.id };
    await testBackend.backend.completeStepAttempt({ ...stepRef, output: worker });
  }
  await testBackend.complete(run.id, worker);
}

async function scenario(crashPoint?: CrashPoint) {
  const [store, clock] = [new MemoryExternalRuns(), new MemoryClock(noon)];
  const crashing = crashingStore(store, crashPoint);
  const at = (of: ConstructorParameters<typeof TestBackend>[0]) => new TestBackend(of, { clock, namespaceId: 'team' });
  const [client, first, survivor] = [at(store), at(crashing.store), at(store)];
  for (let made = 0; made < runs; made += 1) await client.create();
  let hasCrashed = false;
  try {
    while ((await round(first, 'first')) > 0);
  } catch (error) {
    if (!(error instanceof StoreCrashed)) throw error;
    hasCrashed = true;
  }
  for (let idle = 0; idle < 4; clock.advance(minutes(1))) idle = (await round(survivor, 'second')) === 0 ? idle + 1 : 0;
  return { store, clock, client, hasCrashed, writes: crashing.writes() };
}

const { writes } = await scenario();

test('without a crash the first process completes everything', async () => {
  const { hasCrashed, client } = await scenario();
  expect(hasCrashed).toBe(false);
  const { data } = await client.backend.listWorkflowRuns({});
  expect(data.every(({ attempts, status }) => attempts === 1 && status === 'completed')).toBe(true);
  expect(writes).toBeGreaterThan(40);
});

const crashPoints = Array.from({ length: writes }, (_, index) =>
  [false, true].map((isWritten): CrashPoint => ({ atWrite: index + 1, isWritten })),
).flat();

test.each(crashPoints)('a crash at write $atWrite, written: $isWritten', async (crashPoint) => {
  const { store, clock, client, hasCrashed } = await scenario(crashPoint);
  expect(hasCrashed).toBe(true);
  const { data } = await client.backend.listWorkflowRuns({});
  expect(data.map(({ status }) => status)).toEqual(Array.from({ length: runs }, () => 'completed'));
  for (const { id } of data) {
    const steps = await client.backend.listStepAttempts({ workflowRunId: id });
    expect(steps.data.map(({ stepName, status }) => [stepName, status])).toEqual([['only', 'completed']]);
  }
  expect(await client.backend.countWorkflowRuns()).toMatchObject({ completed: runs, running: 0, pending: 0 });
  clock.advance(minutes(60 * 24 * 500));
  expect(await client.claim()).toBeNull();
  expect(await store.reminders('team', clock.now(), 100)).toEqual([]);
});
