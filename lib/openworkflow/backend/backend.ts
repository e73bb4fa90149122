/**
 * The `Backend` of the package `openworkflow`, which stores the runs of its workers and clients, over a table of Stepwell. Only
 * the log of a run decides the result of a method.
 */
import * as decide from '../../engine/external/decide.ts';
import type { ExternalState } from '../../engine/external/fold.ts';
import { parseExternalRunId, runOfStep, retainUntil } from '../../engine/external/run.ts';
import { durationMs } from '../../engine/time.ts';
import type { ExternalRunAddress } from '../../ports/external-runs.ts';
import {
  contextOf,
  copyOf,
  creationOf,
  errorRecordOf,
  jsonOf,
  momentOf,
  retryOf,
  statusOf,
  toStepAttempt,
  toWorkflowRun,
} from './library-types.ts';
import { RunClaimer } from './run-claimer.ts';
import type * as contract from './contract.ts';
import { EntryEffects } from './entry-effects.ts';
import { countRuns, listRuns, pageOf, parsePageRequest } from './lists.ts';
import { type Change, RunLogs, createRun } from './run-logs.ts';
import type { BackendDeps } from './deps.ts';
import { sendSignal } from './send-signal.ts';
import { SharedPoll } from './shared-poll.ts';

type Decide = (state: ExternalState, now: ReturnType<BackendDeps['clock']['now']>) => decide.Decision;

export class ExternalRunsBackend {
  readonly #deps: BackendDeps;
  readonly #namespaceId: string;
  readonly #runLogs: RunLogs;
  readonly #poll: SharedPoll;

  constructor(deps: BackendDeps, namespaceId: string) {
    this.#deps = deps;
    this.#namespaceId = namespaceId;
    const effects = new EntryEffects(deps.store, (child, state) => this.#notifyParent(child, state));
    this.#runLogs = new RunLogs(deps, effects, () => this.#poll.wakeUp());
    this.#poll = new SharedPoll(deps, namespaceId, new RunClaimer(deps, namespaceId, this.#runLogs, effects));
  }

  async createWorkflowRun(options: Readonly<contract.CreateWorkflowRun>): Promise<contract.WorkflowRun> {
    const creation = creationOf(options, this.#deps.clock.now());
    return this.#run(await createRun(this.#deps, this.#runLogs, this.#namespaceId, creation));
  }

  async getWorkflowRun({ workflowRunId }: Readonly<contract.RunRef>): Promise<contract.WorkflowRun | null> {
    const state = await this.#state(workflowRunId);
    return state === undefined ? null : this.#run(state);
  }

  /** Newest first. */
  listWorkflowRuns(options: Readonly<contract.ListWorkflowRuns>): Promise<contract.Page<contract.WorkflowRun>> {
    return listRuns(this.#deps, this.#runLogs, this.#namespaceId, options);
  }

  /** Reads the list, which contains each change once its writer has returned. */
  countWorkflowRuns(): Promise<Record<contract.WorkflowRunStatus, number>> {
    return countRuns(this.#deps, this.#namespaceId);
  }

  /** All concurrency slots of all workers on this backend share one poll. */
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
  }: Readonly<contract.WorkerRunRef & { leaseDurationMs: number }>): Promise<contract.WorkflowRun> {
    const lease = durationMs(leaseDurationMs);
    return this.#changed('extend lease for workflow run', workflowRunId, (state, now) =>
      decide.decideLease(state, workerId, lease, now),
    );
  }

  async sleepWorkflowRun({
    workflowRunId,
    workerId,
    availableAt,
  }: Readonly<contract.WorkerRunRef & { availableAt: Date }>): Promise<contract.WorkflowRun> {
    const at = momentOf(availableAt);
    return this.#changed('sleep workflow run', workflowRunId, (state, now) => decide.decideSuspend(state, workerId, at, now));
  }

  async completeWorkflowRun({
    workflowRunId,
    workerId,
    output,
  }: Readonly<contract.WorkerRunRef & { output: contract.Json | null }>): Promise<contract.WorkflowRun> {
    const written = jsonOf(output);
    return this.#changed('mark workflow run completed', workflowRunId, (state) =>
      decide.decideCompletion(state, workerId, written),
    );
  }

  async failWorkflowRun(options: Readonly<contract.FailWorkflowRun>): Promise<contract.WorkflowRun> {
    const { workflowRunId, workerId, attempts, deadlineAt } = options;
    const failure = {
      workerId,
      error: errorRecordOf(options.error),
      retry: retryOf(options.retryPolicy),
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
    contract.WorkerRunRef & { error: Readonly<contract.SerializedError>; availableAt: Date }
  >): Promise<contract.WorkflowRun> {
    const [written, at] = [errorRecordOf(error), momentOf(availableAt)];
    return this.#changed('reschedule workflow run after failed step attempt', workflowRunId, (state) =>
      decide.decideReschedule(state, workerId, written, at),
    );
  }

  async cancelWorkflowRun({ workflowRunId }: Readonly<contract.RunRef>): Promise<contract.WorkflowRun> {
    const change = await this.#change(workflowRunId, decide.decideCancel);
    if (change.kind !== 'refused') return this.#run(change.state);
    if (change.state === undefined) throw new Error(`Workflow run ${workflowRunId} does not exist`);
    throw new Error(`Cannot cancel workflow run ${workflowRunId} with status ${statusOf(change.state.run.status)}`);
  }

  async createStepAttempt(options: Readonly<contract.CreateStepAttempt>): Promise<contract.StepAttempt> {
    const { workflowRunId, workerId, stepName, kind } = options;
    const context = contextOf(options.context);
    const stepFields = { stepName, kind, config: jsonOf(options.config), context };
    const { store } = this.#deps;
    // A sender must find the wait, so the waiter is written before the wait.
    const registerWait =
      context?.kind === 'signal-wait'
        ? ({ run }: ExternalState, since: number): Promise<void> =>
            store.addWaiter(this.#namespaceId, context.signal, { runId: run.id, since }, retainUntil(run))
        : undefined;
    const change = await this.#change(workflowRunId, (state) => decide.decideStep(state, workerId, stepFields), registerWait);
    const step = change.kind === 'committed' ? [...change.state.steps.values()].at(-1) : undefined;
    if (change.state === undefined || step === undefined) throw new Error('Failed to create step attempt');
    return toStepAttempt(this.#namespaceId, change.state, step);
  }

  async getStepAttempt({ stepAttemptId }: Readonly<{ stepAttemptId: string }>): Promise<contract.StepAttempt | null> {
    const state = await this.#stateOfStep(stepAttemptId);
    const step = state?.steps.get(stepAttemptId);
    return state === undefined || step === undefined ? null : toStepAttempt(this.#namespaceId, state, step);
  }

  /** Oldest first. */
  async listStepAttempts(
    options: Readonly<contract.RunRef & contract.PageOptions>,
  ): Promise<contract.Page<contract.StepAttempt>> {
    const pageRequest = parsePageRequest(options);
    const state = await this.#state(options.workflowRunId);
    const steps =
      state === undefined ? [] : [...state.steps.values()].map((step) => toStepAttempt(this.#namespaceId, state, step));
    // Ids have the order in which the steps began; clocks may differ.
    const from = pageRequest.from?.id;
    const following = pageRequest.isBackwards
      ? steps.filter(({ id }) => from === undefined || id < from).toReversed()
      : steps.filter(({ id }) => from === undefined || id > from);
    return pageOf(following.slice(0, pageRequest.limit + 1), pageRequest);
  }

  async completeStepAttempt({
    output,
    ...step
  }: Readonly<contract.StepRef & { output: contract.Json | null }>): Promise<contract.StepAttempt> {
    const written = jsonOf(output);
    return this.#stepChanged('mark step attempt completed', step, (state) => decide.decideStepCompletion(state, step, written));
  }

  async failStepAttempt({
    error,
    ...step
  }: Readonly<contract.StepRef & { error: Readonly<contract.SerializedError> }>): Promise<contract.StepAttempt> {
    const written = errorRecordOf(error);
    return this.#stepChanged('mark step attempt failed', step, (state) => decide.decideStepFailure(state, step, written));
  }

  async setStepAttemptChildWorkflowRun({
    childWorkflowRunNamespaceId: namespaceId,
    childWorkflowRunId: runId,
    ...step
  }: Readonly<
    contract.StepRef & { childWorkflowRunNamespaceId: string; childWorkflowRunId: string }
  >): Promise<contract.StepAttempt> {
    return this.#stepChanged('set step attempt child workflow run', step, (state) =>
      decide.decideLink(state, step, { namespaceId, runId }),
    );
  }

  async sendSignal({ signal, data, idempotencyKey }: Readonly<contract.SendSignal>): Promise<{ workflowRunIds: string[] }> {
    const sent = { namespaceId: this.#namespaceId, signal, data: jsonOf(data), key: idempotencyKey ?? null };
    return { workflowRunIds: [...(await sendSignal(this.#deps, this.#runLogs, sent))] };
  }

  /** Undefined: no signal has come. */
  async getSignalDelivery({ stepAttemptId }: Readonly<{ stepAttemptId: string }>): Promise<contract.Json | undefined> {
    const delivery = (await this.#stateOfStep(stepAttemptId))?.deliveries.get(stepAttemptId);
    return delivery && copyOf(delivery.data);
  }

  /** Has no effect: the backend holds no resources. */
  async stop(): Promise<void> {}

  #address(workflowRunId: string): ExternalRunAddress | undefined {
    const runId = parseExternalRunId(workflowRunId);
    return runId && { namespaceId: this.#namespaceId, runId };
  }

  async #state(workflowRunId: string): Promise<ExternalState | undefined> {
    const address = this.#address(workflowRunId);
    return address && this.#runLogs.state(address);
  }

  async #stateOfStep(stepAttempt: string): Promise<ExternalState | undefined> {
    const runId = runOfStep(stepAttempt);
    return runId && this.#runLogs.state({ namespaceId: this.#namespaceId, runId });
  }

  async #change(workflowRunId: string, decideChange: Decide, prepare?: Parameters<RunLogs['change']>[2]): Promise<Change> {
    const address = this.#address(workflowRunId);
    return address === undefined ? { kind: 'refused', state: undefined } : this.#runLogs.change(address, decideChange, prepare);
  }

  async #changed(action: string, workflowRunId: string, decideChange: Decide): Promise<contract.WorkflowRun> {
    const change = await this.#change(workflowRunId, decideChange);
    if (change.kind === 'refused') throw new Error(`Failed to ${action}`);
    return this.#run(change.state);
  }

  async #stepChanged(
    action: string,
    { workflowRunId, stepAttemptId }: contract.StepRef,
    decideChange: Decide,
  ): Promise<contract.StepAttempt> {
    const change = await this.#change(workflowRunId, decideChange);
    const step = change.state?.steps.get(stepAttemptId);
    if (change.kind === 'refused' || step === undefined) throw new Error(`Failed to ${action}`);
    return toStepAttempt(this.#namespaceId, change.state, step);
  }

  #run(state: ExternalState): contract.WorkflowRun {
    return toWorkflowRun(this.#namespaceId, state);
  }

  async #notifyParent({ namespaceId, runId }: ExternalRunAddress, { run }: ExternalState): Promise<void> {
    const { parent } = run;
    const parentRunId = parent && runOfStep(parent.stepAttemptId);
    if (parent === null || parentRunId === undefined || parentRunId === null) return;
    const child = { namespaceId, runId };
    await this.#runLogs.change({ namespaceId: parent.namespaceId, runId: parentRunId }, (state) =>
      decide.decideChildEnd(state, parent.stepAttemptId, child),
    );
  }
}
