/** Runs one attempt of a node: with its pinned input, its time limit, and heartbeats while it takes long. */
import { defined } from '../../../base/defined.ts';
import { errorMessage } from '../../../engine/error-text.ts';
import { TimeSliceExceeded } from '../../../engine/fair-shares.ts';
import { PayloadsNeeded } from '../../../engine/graph/context.ts';
import type { Fact } from '../../../engine/graph/facts.ts';
import { nodeInputOf } from '../../../engine/graph/inputs.ts';
import type { Outcome } from '../../../engine/graph/outcome.ts';
import { storableOutcome } from '../../../engine/graph/payload-limits.ts';
import type { Plan, PlanNode } from '../../../engine/graph/plan.ts';
import { type NodeRef, type Scope, nodeKey } from '../../../engine/ids.ts';
import type { Deliveries } from '../../../engine/log/deliveries.ts';
import { reportedOutcome, boundPrintedLines } from '../../../engine/log/event-limits.ts';
import type { Head } from '../../../engine/log/head.ts';
import type { OpenNode } from '../../../engine/log/node-state.ts';
import type { DurationMs } from '../../../engine/time.ts';
import { type Trace, withSpan } from '../../../engine/trace.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import type { RunAttempt } from '../../commit/plans.ts';
import type { Decider } from '../../decider.ts';
import { withPayloads } from '../../run-log/payloads.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';
import { attemptSpanId } from '../../runs/span-ids.ts';
import { openStreamWriter } from './stream-writer.ts';
import { watchAttempt } from './watch-attempt.ts';

export type NodeEnded = Extract<Fact, { kind: 'node-ended' }>;

interface AttemptOptions {
  /** records of the attempt's earlier deliveries */
  readonly deliveries: Deliveries | undefined;
  /** time that scripts may take before the attempt moves to the slow lane; absent: up to their own limits */
  readonly timeSlice: DurationMs | undefined;
  /** results that the log does not contain yet and the node's input may need; the attempt commits them when they are due */
  readonly pack: Parameters<typeof watchAttempt>[1]['pack'];
}

/** An attempt that ended, and the CPU time of its scripts. The log does not contain that time. */
interface AttemptEnd {
  readonly ended: NodeEnded;
  /** absent: it ran no script, or the time is unknown, for example because the attempt was aborted */
  readonly cpuMs?: number;
}

/** @returns `slice_spent` if the attempt had no outcome and no effect, and must start again in the slow lane */
export async function attemptNode(
  worker: Decider & { readonly runAttempt: RunAttempt },
  fold: RunFold,
  plan: Plan,
  node: PlanNode,
  open: OpenNode,
  options: AttemptOptions,
): Promise<AttemptEnd | 'slice_spent'> {
  try {
    return await runAttemptOnce(worker, fold, plan, node, open, options);
  } catch (error) {
    if (error instanceof TimeSliceExceeded) return 'slice_spent';
    throw error;
  }
}

async function runAttemptOnce(
  worker: Decider & { readonly runAttempt: RunAttempt },
  fold: RunFold,
  plan: Plan,
  node: PlanNode,
  open: OpenNode,
  { deliveries, timeSlice, pack }: AttemptOptions,
): Promise<AttemptEnd> {
  const { deps } = worker;
  const run = fold.head.address;
  const startedAt = deps.clock.now();
  const { outcome, printed, cpuMs } = await withPayloads(deps, run, async (loaded) => {
    const { state } = pack === undefined || pack.committed !== undefined ? fold : pack.draft;
    const input = nodeInputOf(plan, node, open.iteration, state, open.pinnedAt, loaded);
    if (node.isPure) return { outcome: worker.plans.evaluate(node, input, startedAt), printed: [] };
    const token = `${run.runId}/${nodeKey(open)}`;
    const streamWriter = openStreamWriter(deps, {
      run,
      node: nodeKey(open),
      attempt: open.attempt,
      expiresAt: fold.head.expiresAt,
    });
    const trace = traceOf(fold.head, open);
    try {
      return await runUnderLimits(worker, { fold, plan, node, open, deliveries, pack }, (signal) =>
        worker.runAttempt(
          node,
          input,
          defined({
            number: open.attempt,
            scope: scopeOf(run),
            signal,
            append: streamWriter.append,
            token,
            timeSlice,
            ...trace,
          }),
        ),
      );
    } finally {
      await streamWriter.end();
    }
  });
  const ref: NodeRef = { nodeId: open.nodeId, iteration: open.iteration };
  const endedAt = deps.clock.now();
  // Bounded here for every node type, so that the commit cannot fail because of the result's size.
  const ended: NodeEnded = {
    kind: 'node-ended',
    node: ref,
    attempt: open.attempt,
    outcome: reportedOutcome(storableOutcome(outcome)),
    startedAt,
    endedAt,
    printed: boundPrintedLines(printed),
  };
  return defined({ ended, cpuMs });
}

const scopeOf = ({ projectId, environment }: Scope): Scope => ({ projectId, environment });

/** The span id is derived from the attempt, so a repeated attempt has the same span. */
const traceOf = ({ trace, address }: Head, open: OpenNode): { readonly trace?: Trace } => {
  if (trace === undefined) return {};
  const spanId = attemptSpanId(address.runId, open, open.attempt);
  return { trace: { ...trace, traceparent: withSpan(trace.traceparent, spanId) } };
};

/** Aborts the attempt at its time limit or when its run has ended, and sends heartbeats while it takes long. */
async function runUnderLimits(
  decider: Decider,
  watched: Parameters<typeof watchAttempt>[1],
  attempt: (signal: AbortSignal) => ReturnType<RunAttempt>,
): ReturnType<RunAttempt> {
  const stop = new AbortController();
  const done = new AbortController();
  const aborted = new Promise<Awaited<ReturnType<RunAttempt>>>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve({ outcome: timedOut(watched.node), printed: [] }), { once: true });
  });
  const watching = watchAttempt(decider, watched, stop, done.signal);
  // The rejection is handled below, after the attempt. Unhandled until then, it would end the process.
  watching.catch(() => undefined);
  try {
    // The race frees the worker even if the call ignores the abort signal.
    return await Promise.race([attempt(stop.signal), aborted]);
  } catch (error) {
    // None of these errors is an outcome: the caller loads values, changes the lane, or leaves the message to redelivery.
    if (error instanceof PayloadsNeeded || error instanceof TimeSliceExceeded || error instanceof Unavailable) throw error;
    return { outcome: runnerThrew(error), printed: [] };
  } finally {
    done.abort(attemptEndedReason);
    await watching;
  }
}

/** An abort without a reason creates an error with a stack trace at each attempt, which nothing reads. */
const attemptEndedReason = 'the attempt has ended';

const timedOut = (node: PlanNode): Outcome => ({
  kind: 'failed',
  failure: {
    cause: 'timeout',
    message: `the attempt took longer than ${node.policy.timeoutMs} ms`,
    code: 'timeout',
    details: { timeoutMs: node.policy.timeoutMs },
  },
});

/** A node runner must not throw, so this is a bug in Stepwell. The failure says so, and the node's policy applies. */
const runnerThrew = (error: unknown): Outcome => ({
  kind: 'failed',
  failure: { cause: 'internal', code: 'internal', message: errorMessage(error) },
});
