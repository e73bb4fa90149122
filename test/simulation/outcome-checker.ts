/**
 * Compares the results of code runs with their code. A run that is not cancelled must have the same result as without faults,
 * unless the result depends on timing. A run that fails or is cancelled must roll back its completed steps, the last one
 * first.
 */
import { stepNodeId } from '../../lib/engine/durable/step.ts';
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { CodeWorkflow } from './random-code.ts';
import { expectedOf } from './random-code.ts';
import type { EffectChecker } from './effect-checker.ts';
import { runInvariant } from './violation.ts';

interface Watched {
  readonly address: RunAddress;
  /** completed steps with a rollback, in the order of their ends */
  readonly done: string[];
  readonly undoable: Set<string>;
  /** workflow tasks and step attempts that ended as lost after worker crashes */
  lost: number;
  /** a child run was cancelled */
  hasLostCall: boolean;
  /** code that ran longer than the time limit of its function was ended, and its running steps failed */
  wasEnded: boolean;
  end?:
    | { readonly status: 'completed'; readonly output: unknown }
    /** `isDeletedMeanwhile`: its message caused five worker crashes */
    | {
        readonly status: 'failed';
        readonly isLost: boolean;
        /** worker crashes ended its rollback */ readonly hasLostRollback: boolean;
      }
    | { readonly status: 'cancelled' };
}

/** Codes of failures caused by worker crashes (`worker-loss-checker.ts` checks those). */
const lossCodes: ReadonlySet<string | undefined> = new Set(['recovery_error', 'worker_lost']);

export class OutcomeChecker {
  readonly #runs = new Map<string, Watched>();
  /** code runs whose result equals the predicted result */
  foretold = 0;
  readonly #areCalledCancelled: boolean;

  /** @param areCalledCancelled a client cancels child runs, so their results are not predictable */
  constructor(areCalledCancelled = false) {
    this.#areCalledCancelled = areCalledCancelled;
  }

  committed(address: RunAddress, { events }: Commit): void {
    const { runId } = address;
    const run = this.#runs.get(runId) ?? {
      address,
      done: [],
      undoable: new Set<string>(),
      lost: 0,
      hasLostCall: false,
      wasEnded: false,
    };
    this.#runs.set(runId, run);
    for (const event of events) {
      if (event.type === 'NODE_DISPATCHED' && event.step?.hasRollback === true) run.undoable.add(event.nodeId);
      if (event.type === 'NODE_COMPLETED' && run.undoable.has(event.nodeId)) run.done.push(event.nodeId);
      if ('failure' in event && lossCodes.has(event.failure.code)) run.lost += 1;
      if (event.type === 'NODE_FAILED' && event.failure.code === 'code_timed_out') run.wasEnded = true;
      if (event.type === 'NODE_FAILED' && event.failure.code === 'subflow_cancelled') run.hasLostCall = true;
      if (event.type === 'RUN_COMPLETED')
        run.end = { status: 'completed', output: 'value' in event.output ? event.output.value : undefined };
      if (event.type === 'RUN_FAILED') {
        const { code } = event.error;
        const hasLostRollback = code === 'rollback_failed' && run.lost > 0;
        run.end = { status: 'failed', isLost: code === 'workflow_task_lost', hasLostRollback };
      }
      if (event.type === 'RUN_CANCELLED') run.end = { status: 'cancelled' };
      if ('failure' in event)
        runInvariant(
          6,
          event.failure.code !== 'replay_diverged',
          `${runId} has another result in its replay: ${event.failure.message}`,
        );
      if ('error' in event && event.error !== undefined)
        runInvariant(
          6,
          event.error.code !== 'replay_diverged',
          `${runId} has another result in its replay: ${event.error.message}`,
        );
    }
  }

  /**
   * @param requireCodeState what a run is pinned to; undefined of graphs
   * @param mayBeCancelled a client may have cancelled it, or it is a child run
   * @param isHurried its deadline is near: what does not fit in before it fails
   */
  async check(
    codeOf: (run: RunAddress) => Promise<CodeWorkflow | undefined>,
    { mayBeCancelled, isHurried }: Readonly<Record<'mayBeCancelled' | 'isHurried', (runId: string) => boolean>>,
    effects: Pick<EffectChecker, 'undoneIn'>,
  ): Promise<void> {
    for (const [runId, run] of this.#runs) {
      const workflow = await codeOf(run.address);
      if (workflow === undefined || run.end === undefined) continue;
      const isCutShort =
        run.wasEnded || run.lost > 0 || run.end.status === 'cancelled' || (run.end.status === 'failed' && run.end.isLost);
      runInvariant(7, run.end.status !== 'cancelled' || mayBeCancelled(runId), `${runId} was cancelled without a cancel request`);
      const isUnforeseen = this.#areCalledCancelled && run.hasLostCall;
      const expected = isCutShort || isUnforeseen || isHurried(runId) ? undefined : await expectedOf(workflow);
      if (expected !== undefined) {
        const { end } = run;
        const isAsExpected =
          end.status === 'completed'
            ? expected.status === 'completed' && end.output === expected.output
            : end.status === expected.status;
        runInvariant(6, isAsExpected, `${runId} ended with ${JSON.stringify(end)}; expected ${JSON.stringify(expected)}`);
        this.foretold += 1;
      }
      this.#checkRollback(runId, run, workflow, effects.undoneIn(runId));
    }
  }

  #checkRollback(runId: string, { done, end, lost }: Watched, { mostAttempts }: CodeWorkflow, undone: readonly string[]): void {
    if (end?.status === 'completed') return runInvariant(12, undone.length === 0, `${runId} completed but was rolled back`);
    // Of an earlier attempt of the workflow, only steps that the last attempt started again are rolled back.
    if (mostAttempts > 1 || lost > 1) return;
    const expected = done.toReversed();
    const seen = undone.map((key) => stepNodeId(key.replace(/^rollback:/, '')));
    const isCut = end?.status === 'failed' && end.hasLostRollback;
    runInvariant(
      12,
      JSON.stringify(seen) === JSON.stringify(isCut ? expected.slice(0, seen.length) : expected),
      `${runId} completed ${done.join(', ')} and rolled back ${undone.join(', ')}`,
    );
  }
}
