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
import { AtHand, lease, thrice } from './at-hand.ts';
import { type Death, Died, mortalStore } from './mortal-store.ts';

const farMs = 10 * 24 * 3_600_000;

/** Replays a run of these two workflows from the start, as the library's worker does. */
class Player {
  readonly own: AtHand;
  readonly worker: string;

  constructor(store: ExternalRuns, clock: MemoryClock, worker: string) {
    this.own = new AtHand(store, { clock, namespaceId: 'team' });
    this.worker = worker;
  }

  /** Repeats client requests without a response, and processes due runs. */
  async goOn(): Promise<void> {
    const parent = await this.own.create({ workflowName: 'parent', idempotencyKey: 'p', availableAt: new Date(noon + 120_000) });
    await this.own.create({ workflowName: 'lost', idempotencyKey: 'l', availableAt: new Date(noon + 180_000) });
    for (let run = await this.own.claim(this.worker); run !== null; run = await this.own.claim(this.worker))
      await this.#play(run);
    if ((await this.own.run(parent.id)).status !== 'completed')
      await this.own.backend.sendSignal({ signal: 'go', data: 'now', idempotencyKey: 's' });
  }

  async #play(run: WorkflowRun): Promise<void> {
    const asked = { workflowRunId: run.id, workerId: this.worker };
    if (run.workflowName === 'child' && run.attempts === 1) {
      await this.own.fail(run.id, thrice, this.worker);
      return;
    }
    if (run.workflowName === 'lost') {
      await this.own.backend.cancelWorkflowRun({ workflowRunId: run.id });
      return;
    }
    if (run.workflowName === 'parent' && !((await this.#child(run)) && (await this.#signal(run)))) {
      await this.own.park(run.id, farMs, this.worker);
      return;
    }
    await this.own.backend.extendWorkflowRunLease({ ...asked, leaseDurationMs: lease });
    await this.own.complete(run.id, this.worker);
  }

  async #child(run: WorkflowRun): Promise<boolean> {
    const { id: workflowRunId } = run;
    const asked = { workflowRunId, workerId: this.worker };
    const step = await this.#step(run, 'child', () =>
      this.own.step(workflowRunId, {
        stepName: 'child',
        kind: 'workflow',
        context: { kind: 'workflow', timeoutAt: null },
        workerId: this.worker,
      }),
    );
    if (step.status === 'completed') return true;
    const child = await this.own.create({
      workflowName: 'child',
      idempotencyKey: `child:${step.id}`,
      parentStepAttemptNamespaceId: step.namespaceId,
      parentStepAttemptId: step.id,
    });
    const link = { ...asked, stepAttemptId: step.id, childWorkflowRunNamespaceId: 'team', childWorkflowRunId: child.id };
    if (step.childWorkflowRunId === null) await this.own.backend.setStepAttemptChildWorkflowRun(link);
    const { status, output } = await this.own.run(child.id);
    if (status !== 'completed') return false;
    await this.own.backend.completeStepAttempt({ ...asked, stepAttemptId: step.id, output });
    return true;
  }

  async #signal(run: WorkflowRun): Promise<boolean> {
    const step = await this.#step(run, 'go', () => this.own.wait(run.id, 'go', this.worker));
    if (step.status === 'completed') return true;
    const output = await this.own.backend.getSignalDelivery({ stepAttemptId: step.id });
    if (output === undefined) return false;
    await this.own.backend.completeStepAttempt({ workflowRunId: run.id, workerId: this.worker, stepAttemptId: step.id, output });
    return true;
  }

  async #step(run: WorkflowRun, name: string, begin: () => Promise<StepAttempt>): Promise<StepAttempt> {
    const { data } = await this.own.backend.listStepAttempts({ workflowRunId: run.id });
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

async function story(death?: Death) {
  const [store, clock] = [new MemoryExternalRuns(), new MemoryClock(noon)];
  const mortal = mortalStore(store, death);
  let died: unknown;
  try {
    await play(new Player(mortal.store, clock, 'first'), clock);
  } catch (error) {
    if (!(error instanceof Died)) throw error;
    died = error.message;
  }
  const survivor = new Player(store, clock, 'second');
  await play(survivor, clock);
  return { store, clock, survivor, died, writes: mortal.writes() };
}

async function expectWhole({ store, clock, survivor }: Awaited<ReturnType<typeof story>>): Promise<void> {
  const { backend } = survivor.own;
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
  expect(await survivor.own.claim()).toBeNull();
  expect(await store.reminders('team', clock.now(), 100)).toEqual([]);
}

const { writes } = await story();

test('without a crash the scenario completes', async () => {
  const told = await story();
  expect(told.died).toBeUndefined();
  await expectWhole(told);
});

test('the scenario has many writes', () => {
  expect(writes).toBeGreaterThan(50);
});

const deaths = Array.from({ length: writes }, (_, index) =>
  [false, true].map((isWritten): Death => ({ atWrite: index + 1, isWritten })),
).flat();

test.each(deaths)('a crash at write $atWrite, written: $isWritten', async (death) => {
  const told = await story(death);
  expect(told.died).toBeDefined();
  await expectWhole(told);
});
