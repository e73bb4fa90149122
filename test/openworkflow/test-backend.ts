/** A backend over a store with a manual clock, and shorthands for the most frequent test requests. */
import { randomUUID } from 'node:crypto';
import { type DurationMs, minutes } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { ExternalRunsBackend } from '../../lib/openworkflow/backend/backend.ts';
import type { CreateWorkflowRun, RetryPolicy, StepAttempt, WorkflowRun } from '../../lib/openworkflow/backend/contract.ts';
import type { BackendDeps } from '../../lib/openworkflow/backend/deps.ts';
import type { StepAttemptContext, StepKind } from '../../lib/engine/external/run.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { noon } from '../contract/samples.ts';

export const lease = minutes(1);
export const once: RetryPolicy = { initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '100s', maximumAttempts: 1 };
export const thrice: RetryPolicy = { ...once, maximumAttempts: 3 };
export const bad = { message: 'it is bad', name: 'BadError' };

/** Several instances on one store and one clock simulate several processes. */
export class TestBackend {
  readonly clock: MemoryClock;
  readonly namespaceId: string;
  readonly backend: ExternalRunsBackend;

  constructor(
    store: ExternalRuns,
    {
      clock = new MemoryClock(noon),
      namespaceId = randomUUID(),
      random = () => 0,
      sleep = async () => {},
      warn = () => {},
    }: Partial<Pick<BackendDeps, 'random' | 'sleep' | 'warn'>> & {
      readonly clock?: MemoryClock;
      readonly namespaceId?: string;
    } = {},
  ) {
    this.clock = clock;
    this.namespaceId = namespaceId;
    this.backend = new ExternalRunsBackend({ store, clock, sleep, warn, newId: randomUUID, random }, namespaceId);
  }

  create(facts: Partial<CreateWorkflowRun> = {}): Promise<WorkflowRun> {
    return this.backend.createWorkflowRun({
      workflowName: 'orders',
      version: null,
      idempotencyKey: null,
      config: {},
      context: null,
      input: null,
      parentStepAttemptNamespaceId: null,
      parentStepAttemptId: null,
      availableAt: null,
      deadlineAt: null,
      ...facts,
    });
  }

  claim(workerId = 'w', leaseDurationMs: DurationMs = lease): Promise<WorkflowRun | null> {
    return this.backend.claimWorkflowRun({ workerId, leaseDurationMs });
  }

  /** A run that the worker has claimed. */
  async claimed(workerId = 'w', facts: Partial<CreateWorkflowRun> = {}): Promise<WorkflowRun> {
    const created = await this.create(facts);
    const claimed = await this.claim(workerId);
    if (claimed?.id !== created.id) throw new Error('another run was claimed');
    return claimed;
  }

  async run(workflowRunId: string): Promise<WorkflowRun> {
    const run = await this.backend.getWorkflowRun({ workflowRunId });
    if (run === null) throw new Error('there is no such run');
    return run;
  }

  step(
    workflowRunId: string,
    facts: { stepName?: string; kind?: StepKind; context?: StepAttemptContext | null; workerId?: string } = {},
  ): Promise<StepAttempt> {
    const { stepName = 'step', kind = 'function', context = null, workerId = 'w' } = facts;
    return this.backend.createStepAttempt({ workflowRunId, workerId, stepName, kind, config: {}, context });
  }

  wait(workflowRunId: string, signal: string, workerId = 'w'): Promise<StepAttempt> {
    const context = { kind: 'signal-wait', signal, timeoutAt: this.at(3_600_000).toISOString() } as const;
    return this.step(workflowRunId, { stepName: signal, kind: 'signal-wait', context, workerId });
  }

  /** A claimed parent run, and its pending child, linked to the parent. */
  async family(child: Partial<CreateWorkflowRun> = {}) {
    const parent = await this.claimed();
    const call = await this.step(parent.id, { kind: 'workflow', context: { kind: 'workflow', timeoutAt: null } });
    const born = await this.create({
      ...child,
      parentStepAttemptNamespaceId: call.namespaceId,
      parentStepAttemptId: call.id,
    });
    await this.link(parent, call, born);
    return { parent, call, child: born };
  }

  link(parent: WorkflowRun, call: StepAttempt, child: WorkflowRun): Promise<StepAttempt> {
    return this.backend.setStepAttemptChildWorkflowRun({
      workflowRunId: parent.id,
      stepAttemptId: call.id,
      workerId: 'w',
      childWorkflowRunNamespaceId: child.namespaceId,
      childWorkflowRunId: child.id,
    });
  }

  park(workflowRunId: string, ms: number, workerId = 'w'): Promise<WorkflowRun> {
    return this.backend.sleepWorkflowRun({ workflowRunId, workerId, availableAt: this.at(ms) });
  }

  complete(workflowRunId: string, workerId = 'w'): Promise<WorkflowRun> {
    return this.backend.completeWorkflowRun({ workflowRunId, workerId, output: { done: true } });
  }

  fail(workflowRunId: string, retryPolicy = once, workerId = 'w'): Promise<WorkflowRun> {
    return this.backend.failWorkflowRun({ workflowRunId, workerId, error: bad, retryPolicy });
  }

  /** The time after this many milliseconds. */
  at(ms: number): Date {
    return new Date(this.clock.now() + ms);
  }
}
