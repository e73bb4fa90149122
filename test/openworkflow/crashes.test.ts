/**
 * A process with all roles crashes at each of its writes, before or after it. Another process takes over: it repeats the clients'
 * requests and polls for runs. Nothing is lost or duplicated.
 */
import { expect, test } from 'vitest';
import { minutes } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import type { StepAttempt, WorkflowRun } from '../../lib/openworkflow/backend/contract.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { noon } from '../contract/samples.ts';
import { TestBackend, lease, thrice } from './test-backend.ts';
import { type CrashPoint, StoreCrashed, crashingStore } from './crashing-store.ts';

const farMs = 10 * 24 * 3_600_000;

/** Replays a run of these two workflows from the start, as the library's worker does. */
class Player {
  readonly testBackend: TestBackend;
  readonly worker: string;

  constructor(store: ExternalRuns, clock: MemoryClock, worker: string) {
    this.testBackend = new TestBackend(store, { clock, namespaceId: 'team' });
    this.worker = worker;
  }

  /** Repeats client requests without a response, and processes due runs. */
  async goOn(): Promise<void> {
    const parent = await this.testBackend.create({
      workflowName: 'parent',
      idempotencyKey: 'p',
      availableAt: new Date(noon + 120_000),
    });
    await this.testBackend.create({ workflowName: 'lost', idempotencyKey: 'l', availableAt: new Date(noon + 180_000) });
    for (let run = await this.testBackend.claim(this.worker); run !== null; run = await this.testBackend.claim(this.worker))
      await this.#play(run);
    if ((await this.testBackend.run(parent.id)).status !== 'completed')
      await this.testBackend.backend.sendSignal({ signal: 'go', data: 'now', idempotencyKey: 's' });
  }

  async #play(run: WorkflowRun): Promise<void> {
    const runRef = { workflowRunId: run.id, workerId: this.worker };
    if (run.workflowName === 'child' && run.attempts === 1) {
      await this.testBackend.fail(run.id, thrice, this.worker);
      return;
    }
    if (run.workflowName === 'lost') {
      await this.testBackend.backend.cancelWorkflowRun({ workflowRunId: run.id });
      return;
    }
    if (run.workflowName === 'parent' && !((await this.#child(run)) && (await this.#signal(run)))) {
      await this.testBackend.park(run.id, farMs, this.worker);
      return;
    }
    await this.testBackend.backend.extendWorkflowRunLease({ ...runRef, leaseDurationMs: lease });
    await this.testBackend.complete(run.id, this.worker);
  }

  async #child(run: WorkflowRun): Promise<boolean> {
    const { id: workflowRunId } = run;
    const runRef = { workflowRunId, workerId: this.worker };
    const step = await this.#step(run, 'child', () =>
      this.testBackend.step(workflowRunId, {
        stepName: 'child',
        kind: 'workflow',
        context: { kind: 'workflow', timeoutAt: null },
        workerId: this.worker,
      }),
    );
    if (step.status === 'completed') return true;
    const child = await this.testBackend.create({
      workflowName: 'child',
      idempotencyKey: `child:${step.id}`,
      parentStepAttemptNamespaceId: step.namespaceId,
      parentStepAttemptId: step.id,
    });
    const link = { ...runRef, stepAttemptId: step.id, childWorkflowRunNamespaceId: 'team', childWorkflowRunId: child.id };
    if (step.childWorkflowRunId === null) await this.testBackend.backend.setStepAttemptChildWorkflowRun(link);
    const { status, output } = await this.testBackend.run(child.id);
    if (status !== 'completed') return false;
    await this.testBackend.backend.completeStepAttempt({ ...runRef, stepAttemptId: step.id, output });
    return true;
  }

  async #signal(run: WorkflowRun): Promise<boolean> {
    const step = await this.#step(run, 'go', () => this.testBackend.wait(run.id, 'go', this.worker));
    if (step.status === 'completed') return true;
    const output = await this.testBackend.backend.getSignalDelivery({ stepAttemptId: step.id });
    if (output === undefined) return false;
    await this.testBackend.backend.completeStepAttempt({
      workflowRunId: run.id,
      workerId: this.worker,
      stepAttemptId: step.id,
      output,
    });
    return true;
  }

  async #step(run: WorkflowRun, name: string, begin: () => Promise<StepAttempt>): Promise<StepAttempt> {
    const { data } = await this.testBackend.backend.listStepAttempts({ workflowRunId: run.id });
    return data.find(({ stepName }) => stepName === name) ?? begin();
  }
}

const rounds = 40;
const step = minutes(0.5);

async function play(player: Player, clock: MemoryClock): Promise<void> {
  for (let round = 0; round < rounds; round += 1) {
    await player.goOn();
    clock.advance(step);
  }
}

async function scenario(crashPoint?: CrashPoint) {
  const [store, clock] = [new MemoryExternalRuns(), new MemoryClock(noon)];
  const crashing = crashingStore(store, crashPoint);
  let hasCrashed: unknown;
  try {
    await play(new Player(crashing.store, clock, 'first'), clock);
  } catch (error) {
    if (!(error instanceof StoreCrashed)) throw error;
    hasCrashed = error.message;
  }
  const survivor = new Player(store, clock, 'second');
  await play(survivor, clock);
  return { store, clock, survivor, hasCrashed, writes: crashing.writes() };
}

async function expectWhole({ store, clock, survivor }: Awaited<ReturnType<typeof scenario>>): Promise<void> {
  const { backend } = survivor.testBackend;
  const { data } = await backend.listWorkflowRuns({});
  const ends = data.map(({ workflowName, status }) => `${workflowName} ${status}`).toSorted();
  expect(ends).toEqual(['child completed', 'lost canceled', 'parent completed']);
  const counts = { pending: 0, running: 0, completed: 2, failed: 0, canceled: 1 };
  expect(await backend.countWorkflowRuns()).toEqual(counts);
  const parent = data.find(({ workflowName }) => workflowName === 'parent');
  const steps = await backend.listStepAttempts({ workflowRunId: parent?.id ?? '' });
  expect(steps.data.map(({ stepName, status, output }) => [stepName, status, output])).toEqual([
    ['child', 'completed', { done: true }],
    ['go', 'completed', 'now'],
  ]);
  // No reminder remains, now or later.
  clock.advance(minutes(60 * 24 * 500));
  expect(await survivor.testBackend.claim()).toBeNull();
  expect(await store.reminders('team', clock.now(), 100)).toEqual([]);
}

const { writes } = await scenario();

test('without a crash the scenario completes', async () => {
  const outcome = await scenario();
  expect(outcome.hasCrashed).toBeUndefined();
  await expectWhole(outcome);
});

test('the scenario has many writes', () => {
  expect(writes).toBeGreaterThan(50);
});

const crashPoints = Array.from({ length: writes }, (_, index) =>
  [false, true].map((isWritten): CrashPoint => ({ atWrite: index + 1, isWritten })),
).flat();

test.each(crashPoints)('a crash at write $atWrite, written: $isWritten', async (crashPoint) => {
  const outcome = await scenario(crashPoint);
  expect(outcome.hasCrashed).toBeDefined();
  await expectWhole(outcome);
});
