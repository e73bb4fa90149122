/**
 * Where the workers and clients of the package `openworkflow` keep their runs: its `Backend`, over a table of Stepwell. Each
 * method is decided by the log of the run alone.
 */
import * as decide from '../../engine/polled/decide.ts';
import type { PolledState } from '../../engine/polled/fold.ts';
import { asPolledRunId, runOfStep } from '../../engine/polled/ids.ts';
import { forgetAt } from '../../engine/polled/run.ts';
import { durationMs } from '../../engine/time.ts';
import type { PolledAddress } from '../../ports/polled-runs.ts';
import { copyOf, runAnswer, statusOf, stepAnswer } from './answers.ts';
import { contextOf, creationOf, errorOf, jsonOf, momentOf, retryOf } from './asked.ts';
import { Claims } from './claim-run.ts';
import type * as contract from './contract.ts';
import { createRun } from './create-run.ts';
import { Duties } from './duties.ts';
import { type Change, Ledgers } from './ledgers.ts';
import { countRuns, listRuns } from './list-runs.ts';
import { pageOf, turnOf } from './pages.ts';
import type { BackendParts } from './parts.ts';
import { sendSignal } from './send-signal.ts';
import { SharedPoll } from './shared-poll.ts';

type Decide = (state: PolledState, now: ReturnType<BackendParts['clock']['now']>) => decide.Decision;

export class PolledBackend {
  readonly #parts: BackendParts;
  readonly #namespaceId: string;
  readonly #ledgers: Ledgers;
  readonly #poll: SharedPoll;

  constructor(parts: BackendParts, namespaceId: string) {
    this.#parts = parts;
    this.#namespaceId = namespaceId;
    const duties = new Duties(parts.store, (child, state) => this.#tellParent(child, state));
    this.#ledgers = new Ledgers(parts, duties, () => this.#poll.expectWork());
    this.#poll = new SharedPoll(parts, namespaceId, new Claims(parts, namespaceId, this.#ledgers, duties));
  }

  async createWorkflowRun(asked: Readonly<contract.CreateWorkflowRun>): Promise<contract.WorkflowRun> {
    const creation = creationOf(asked, this.#parts.clock.now());
    return this.#run(await createRun(this.#parts, this.#ledgers, this.#namespaceId, creation));
  }

  async getWorkflowRun({ workflowRunId }: Readonly<contract.OfRun>): Promise<contract.WorkflowRun | null> {
    const state = await this.#state(workflowRunId);
    return state === undefined ? null : this.#run(state);
  }

  /** Newest first. */
  listWorkflowRuns(asked: Readonly<contract.ListWorkflowRuns>): Promise<contract.Page<contract.WorkflowRun>> {
    return listRuns(this.#parts, this.#ledgers, this.#namespaceId, asked);
  }

  /** By the list, which knows of each change as soon as its writer has answered. */
  countWorkflowRuns(): Promise<Record<contract.WorkflowRunStatus, number>> {
    return countRuns(this.#parts, this.#namespaceId);
  }

  /** All slots of all workers on this backend share one poll. */
  async claimWorkflowRun({
    workerId,
    leaseDurationMs,
  }: Readonly<{ workerId: string; leaseDurationMs: number }>): Promise<contract.WorkflowRun | null> {
    const lease = durationMs(leaseDurationMs);
    const claimed = await this.#poll.claim({ workerId, lease });
    return claimed === undefined ? null : this.#run(claimed);
  }

  async extendWorkflowRunLease({
    workerId,
    leaseDurationMs,
    workflowRunId,
  }: Readonly<contract.OfWorker & { leaseDurationMs: number }>): Promise<contract.WorkflowRun> {
    const lease = durationMs(leaseDurationMs);
    return this.#changed('extend lease for workflow run', workflowRunId, (state, now) =>
      decide.decideLease(state, workerId, lease, now),
    );
  }

  async sleepWorkflowRun({
    workflowRunId,
    workerId,
    availableAt,
  }: Readonly<contract.OfWorker & { availableAt: Date }>): Promise<contract.WorkflowRun> {
    const at = momentOf(availableAt);
    return this.#changed('sleep workflow run', workflowRunId, (state, now) => decide.decidePark(state, workerId, at, now));
  }

  async completeWorkflowRun({
    workflowRunId,
    workerId,
    output,
  }: Readonly<contract.OfWorker & { output: contract.Json | null }>): Promise<contract.WorkflowRun> {
    const written = jsonOf(output);
    return this.#changed('mark workflow run completed', workflowRunId, (state) =>
      decide.decideCompletion(state, workerId, written),
    );
  }

  async failWorkflowRun(asked: Readonly<contract.FailWorkflowRun>): Promise<contract.WorkflowRun> {
    const { workflowRunId, workerId, attempts, deadlineAt } = asked;
    const failure = {
      workerId,
      error: errorOf(asked.error),
      retry: retryOf(asked.retryPolicy),
      attempts,
      deadlineAt: deadlineAt instanceof Date ? momentOf(deadlineAt) : deadlineAt,
    };
    return this.#changed('mark workflow run failed', workflowRunId, (state, now) => decide.decideFailure(state, failure, now));
  }

  async rescheduleWorkflowRunAfterFailedStepAttempt({
    workflowRunId,
    workerId,
    error,
    availableAt,
  }: Readonly<
    contract.OfWorker & { error: Readonly<contract.SerializedError>; availableAt: Date }
  >): Promise<contract.WorkflowRun> {
    const [written, at] = [errorOf(error), momentOf(availableAt)];
    return this.#changed('reschedule workflow run after failed step attempt', workflowRunId, (state) =>
      decide.decideReschedule(state, workerId, written, at),
    );
  }

  async cancelWorkflowRun({ workflowRunId }: Readonly<contract.OfRun>): Promise<contract.WorkflowRun> {
    const change = await this.#change(workflowRunId, decide.decideCancel);
    if (change.kind !== 'refused') return this.#run(change.state);
    if (change.state === undefined) throw new Error(`Workflow run ${workflowRunId} does not exist`);
    throw new Error(`Cannot cancel workflow run ${workflowRunId} with status ${statusOf(change.state.run.status)}`);
  }

  async createStepAttempt(asked: Readonly<contract.CreateStepAttempt>): Promise<contract.StepAttempt> {
    const { workflowRunId, workerId, stepName, kind } = asked;
    const context = contextOf(asked.context);
    const begun = { stepName, kind, config: jsonOf(asked.config), context };
    const { store } = this.#parts;
    // Whoever sends the signal must find the wait, so the waiter is there before it.
    const waits =
      context?.kind === 'signal-wait'
        ? ({ run }: PolledState, since: number): Promise<void> =>
            store.await(this.#namespaceId, context.signal, { runId: run.id, since }, forgetAt(run))
        : undefined;
    const change = await this.#change(workflowRunId, (state) => decide.decideStep(state, workerId, begun), waits);
    const step = change.kind === 'committed' ? [...change.state.steps.values()].at(-1) : undefined;
    if (change.state === undefined || step === undefined) throw new Error('Failed to create step attempt');
    return stepAnswer(this.#namespaceId, change.state, step);
  }

  async getStepAttempt({ stepAttemptId }: Readonly<{ stepAttemptId: string }>): Promise<contract.StepAttempt | null> {
    const state = await this.#stateOfStep(stepAttemptId);
    const step = state?.steps.get(stepAttemptId);
    return state === undefined || step === undefined ? null : stepAnswer(this.#namespaceId, state, step);
  }

  /** Oldest first. */
  async listStepAttempts(asked: Readonly<contract.OfRun & contract.PageOptions>): Promise<contract.Page<contract.StepAttempt>> {
    const turn = turnOf(asked);
    const state = await this.#state(asked.workflowRunId);
    const steps = state === undefined ? [] : [...state.steps.values()].map((step) => stepAnswer(this.#namespaceId, state, step));
    // Their ids have the order in which they began, whatever clocks said.
    const from = turn.from?.id;
    const behind = turn.isBackwards
      ? steps.filter(({ id }) => from === undefined || id < from).toReversed()
      : steps.filter(({ id }) => from === undefined || id > from);
    return pageOf(behind.slice(0, turn.limit + 1), turn);
  }

  async completeStepAttempt({
    output,
    ...step
  }: Readonly<contract.OfStep & { output: contract.Json | null }>): Promise<contract.StepAttempt> {
    const written = jsonOf(output);
    return this.#stepChanged('mark step attempt completed', step, (state) => decide.decideStepCompletion(state, step, written));
  }

  async failStepAttempt({
    error,
    ...step
  }: Readonly<contract.OfStep & { error: Readonly<contract.SerializedError> }>): Promise<contract.StepAttempt> {
    const written = errorOf(error);
    return this.#stepChanged('mark step attempt failed', step, (state) => decide.decideStepFailure(state, step, written));
  }

  async setStepAttemptChildWorkflowRun({
    childWorkflowRunNamespaceId: namespaceId,
    childWorkflowRunId: runId,
    ...step
  }: Readonly<
    contract.OfStep & { childWorkflowRunNamespaceId: string; childWorkflowRunId: string }
  >): Promise<contract.StepAttempt> {
    return this.#stepChanged('set step attempt child workflow run', step, (state) =>
      decide.decideLink(state, step, { namespaceId, runId }),
    );
  }

  async sendSignal({ signal, data, idempotencyKey }: Readonly<contract.SendSignal>): Promise<{ workflowRunIds: string[] }> {
    const sent = { namespaceId: this.#namespaceId, signal, data: jsonOf(data), key: idempotencyKey ?? null };
    return { workflowRunIds: [...(await sendSignal(this.#parts, this.#ledgers, sent))] };
  }

  /** Undefined: none has come. */
  async getSignalDelivery({ stepAttemptId }: Readonly<{ stepAttemptId: string }>): Promise<contract.Json | undefined> {
    const delivery = (await this.#stateOfStep(stepAttemptId))?.deliveries.get(stepAttemptId);
    return delivery && copyOf(delivery.data);
  }

  /** It holds nothing open. */
  async stop(): Promise<void> {}

  #address(workflowRunId: string): PolledAddress | undefined {
    const runId = asPolledRunId(workflowRunId);
    return runId && { namespaceId: this.#namespaceId, runId };
  }

  async #state(workflowRunId: string): Promise<PolledState | undefined> {
    const address = this.#address(workflowRunId);
    return address && this.#ledgers.state(address);
  }

  async #stateOfStep(stepAttempt: string): Promise<PolledState | undefined> {
    const runId = runOfStep(stepAttempt);
    return runId && this.#ledgers.state({ namespaceId: this.#namespaceId, runId });
  }

  async #change(workflowRunId: string, decided: Decide, prepare?: Parameters<Ledgers['change']>[2]): Promise<Change> {
    const address = this.#address(workflowRunId);
    return address === undefined ? { kind: 'refused', state: undefined } : this.#ledgers.change(address, decided, prepare);
  }

  async #changed(what: string, workflowRunId: string, decided: Decide): Promise<contract.WorkflowRun> {
    const change = await this.#change(workflowRunId, decided);
    if (change.kind === 'refused') throw new Error(`Failed to ${what}`);
    return this.#run(change.state);
  }

  async #stepChanged(
    what: string,
    { workflowRunId, stepAttemptId }: contract.OfStep,
    decided: Decide,
  ): Promise<contract.StepAttempt> {
    const change = await this.#change(workflowRunId, decided);
    const step = change.state?.steps.get(stepAttemptId);
    if (change.kind === 'refused' || step === undefined) throw new Error(`Failed to ${what}`);
    return stepAnswer(this.#namespaceId, change.state, step);
  }

  #run(state: PolledState): contract.WorkflowRun {
    return runAnswer(this.#namespaceId, state);
  }

  async #tellParent({ namespaceId, runId }: PolledAddress, { run }: PolledState): Promise<void> {
    const { parent } = run;
    const of = parent && runOfStep(parent.stepAttemptId);
    if (parent === null || of === undefined || of === null) return;
    const child = { namespaceId, runId };
    await this.#ledgers.change({ namespaceId: parent.namespaceId, runId: of }, (state) =>
      decide.decideChildEnd(state, parent.stepAttemptId, child),
    );
  }
}
