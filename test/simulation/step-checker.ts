/**
 * Checks code steps from the log alone. Each step gets the attempts of its policy while it fails by itself, and no step is
 * lost without a fault. A workflow task that another one has overtaken issues no more commands. An open run always has a
 * workflow task or a wait that dispatches one at its end.
 */
import { stepRetryDefaults } from '../../lib/engine/durable/step.ts';
import { type Nonce, type RunAddress, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { type RunState, isTerminal, isWaitingForSlot } from '../../lib/engine/log/fold.ts';
import { isOpen } from '../../lib/engine/log/node-state.ts';
import type { Process } from './process.ts';
import { runInvariant } from './violation.ts';

interface Tried {
  readonly most: number;
  /** attempts that failed by themselves */
  failed: number;
}

interface Watched {
  readonly steps: Map<string, Tried>;
  /** steps that failed before their last attempt: the code has failed then, so it must issue no further command */
  readonly givenUp: string[];
  /** the workflow tasks that started steps, latest last */
  readonly askers: Process[];
  /** consecutive workflow tasks without progress */
  idleWorkflowTasks: number;
}

/** A resume and each wait dispatch a workflow task; this many in a row without progress are a loop. */
const mostIdleDrives = 40;
const drivePrefix = '.workflow-task.';

export class StepChecker {
  readonly #isCalm: boolean;
  readonly #isHurried: (runId: string) => boolean;
  readonly #runs = new Map<string, Watched>();
  readonly #writers = new Map<Nonce, Process>();

  /**
   * @param isCalm nothing goes wrong
   * @param isHurried its deadline is near: a try that would come behind it is not made
   */
  constructor(isCalm: boolean, isHurried: (runId: string) => boolean) {
    this.#isCalm = isCalm;
    this.#isHurried = isHurried;
  }

  /** A commit with this nonce belongs to a workflow task. */
  writes(nonce: Nonce, drive: Process): void {
    this.#writers.set(nonce, drive);
  }

  /** @param state of the run after this commit */
  committed({ runId }: RunAddress, { events, nonce }: Commit, state: RunState | undefined): void {
    if (state?.code !== undefined) runInvariant(5, isLookedAfter(state), `${runId} is open without a workflow task`);
    const run = this.#runs.get(runId) ?? { steps: new Map<string, Tried>(), givenUp: [], askers: [], idleWorkflowTasks: 0 };
    this.#runs.set(runId, run);
    for (const event of events) this.#drives(runId, run, event);
    const writer = this.#writers.get(nonce);
    // The function that counts the last worker crash fails the lost attempts.
    if (writer === undefined) {
      for (const event of events) if ('failure' in event && event.failure.code === 'worker_lost') this.#one(runId, run, event);
      return;
    }
    for (const event of events) {
      this.#one(runId, run, event);
      if (isAsking(event)) this.#asks(runId, run, writer);
    }
  }

  #drives(runId: string, run: Watched, event: RunEvent): void {
    if (!('nodeId' in event)) return;
    if (event.type === 'NODE_DISPATCHED' && event.step?.kind === 'workflow_task') run.idleWorkflowTasks += 1;
    else if (!event.nodeId.startsWith(drivePrefix)) run.idleWorkflowTasks = 0;
    runInvariant(
      5,
      run.idleWorkflowTasks <= mostIdleDrives,
      `${runId} had ${run.idleWorkflowTasks} workflow tasks without progress`,
    );
  }

  #asks(runId: string, { askers, givenUp }: Watched, by: Process): void {
    runInvariant(2, givenUp.length === 0, `${runId} continues although ${givenUp.join(', ')} failed before the last attempt`);
    if (askers.at(-1) === by) return;
    runInvariant(2, !askers.includes(by), `a workflow task of ${runId} continued after it had read that another one took over`);
    askers.push(by);
  }

  #one(runId: string, run: Watched, event: RunEvent): void {
    // A retried workflow retries its failed steps.
    if (event.type === 'RUN_RETRIED') {
      run.steps.clear();
      run.givenUp.length = 0;
    }
    if (event.type === 'NODE_DISPATCHED' && event.step !== undefined && event.step.kind !== 'workflow_task')
      run.steps.set(nodeKey(event), { most: event.step.retry?.maximumAttempts ?? stepRetryDefaults.maximumAttempts, failed: 0 });
    if (event.type !== 'NODE_RETRIED' && event.type !== 'NODE_FAILED') return;
    const tried = run.steps.get(nodeKey(event));
    if (tried === undefined) return;
    const { cause } = event.failure;
    if (event.type === 'NODE_RETRIED' && cause === 'lost')
      return runInvariant(12, !this.#isCalm, `${runId} lost ${event.nodeId} although no worker crashed`);
    tried.failed += 1;
    const { most, failed } = tried;
    if (most === 0) return;
    runInvariant(2, failed < most || event.type === 'NODE_FAILED', `${event.nodeId} of ${runId} has more than ${most} attempts`);
    const isGivenUp = event.type === 'NODE_FAILED' && cause === 'error' && failed < most;
    if (isGivenUp && !this.#isHurried(runId)) run.givenUp.push(event.nodeId);
  }
}

/** A workflow task runs the rollback; before it, a wait or a concurrency slot may dispatch the next workflow task. */
function isLookedAfter(state: RunState): boolean {
  if (isTerminal(state.progress)) return true;
  const open = [...state.open.keys()].map((key) => state.nodes.get(key));
  if (open.some((node) => node !== undefined && isOpen(node) && node.step?.kind === 'workflow_task')) return true;
  return state.code?.runOutcome === undefined && (isWaitingForSlot(state) || open.some((node) => node?.status === 'waiting'));
}

const isAsking = (event: RunEvent): boolean =>
  (event.type === 'NODE_DISPATCHED' ||
    event.type === 'SLEEP_STARTED' ||
    event.type === 'SIGNAL_AWAITED' ||
    event.type === 'SUBFLOW_CALLED') &&
  event.step !== undefined &&
  event.step.kind !== 'workflow_task' &&
  event.step.kind !== 'rollback';
