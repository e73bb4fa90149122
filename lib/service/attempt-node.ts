/** One attempt of one node: its pinned input, its time limit, and signs of life while it takes long. */
import { type NodeRef, nodeKey } from '../engine/ids.ts';
import type { Fact } from '../engine/graph/facts.ts';
import { inputOf } from '../engine/graph/inputs.ts';
import { PayloadsNeeded } from '../engine/graph/context.ts';
import type { Outcome } from '../engine/graph/outcome.ts';
import type { Plan, PlanNode } from '../engine/graph/plan.ts';
import type { OpenNode } from '../engine/log/node-state.ts';
import { isTerminal } from '../engine/log/fold.ts';
import { between, durationMs, seconds } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from './deps.ts';
import type { RunAttempt } from './graph.ts';
import { withPayloads } from './payloads.ts';
import { type RunFold, readTail } from './read-log.ts';

export type NodeEnded = Extract<Fact, { kind: 'node-ended' }>;

/** "Still at work", at this rate; well within the patience of `engine/log/silence.ts`. */
const beatEvery = seconds(60);
/** A runner keeps the time limit itself and says what it was doing; this is for one that does not. */
const graceMs = 2_000;
/** How often a worker looks whether its run was cancelled while a node takes long. */
const lookEvery = seconds(5);

export async function attemptNode(
  worker: Decider & { readonly runAttempt: RunAttempt },
  fold: RunFold,
  plan: Plan,
  node: PlanNode,
  open: OpenNode,
): Promise<NodeEnded> {
  const { deps } = worker;
  const run = fold.head.address;
  const startedAt = deps.clock.now();
  const { outcome, printed } = await withPayloads(deps, run, (loaded) => {
    const input = inputOf(plan, node, open.iteration, fold.state, open.pinnedAt, loaded);
    if (node.isPure) return { outcome: worker.plans.evaluate(node, input, startedAt), printed: [] };
    const token = `${run.runId}/${nodeKey(open)}`;
    return underLimits(worker, fold, node, open, (signal) =>
      worker.runAttempt(node, input, { number: open.attempt, signal, token }),
    );
  });
  const ref: NodeRef = { nodeId: open.nodeId, iteration: open.iteration };
  return { kind: 'node-ended', node: ref, attempt: open.attempt, outcome, startedAt, endedAt: deps.clock.now(), printed };
}

/** Aborts the attempt at its time limit or when its run has ended, and beats while it takes long. */
async function underLimits(
  { deps }: Decider,
  fold: RunFold,
  node: PlanNode,
  open: OpenNode,
  attempt: (signal: AbortSignal) => ReturnType<RunAttempt>,
): ReturnType<RunAttempt> {
  const stop = new AbortController();
  const done = new AbortController();
  const aborted = new Promise<Awaited<ReturnType<RunAttempt>>>((resolve) => {
    stop.signal.addEventListener('abort', () => resolve({ outcome: timedOut(node), printed: [] }), { once: true });
  });
  const watching = watch(deps, fold, node, open, stop, done.signal);
  try {
    // Raced as well as aborted: a call that does not heed the signal must not hold the worker.
    return await Promise.race([attempt(stop.signal), aborted]);
  } catch (trouble) {
    if (trouble instanceof PayloadsNeeded) throw trouble;
    return { outcome: brokeDown(trouble), printed: [] };
  } finally {
    done.abort();
    await watching;
  }
}

async function watch(
  deps: Deps,
  fold: RunFold,
  node: PlanNode,
  open: OpenNode,
  stop: AbortController,
  done: AbortSignal,
): Promise<void> {
  const startedAt = deps.clock.now();
  let lastBeat = startedAt;
  for (;;) {
    const left = node.policy.timeoutMs + graceMs - between(startedAt, deps.clock.now());
    if (left <= 0) return stop.abort();
    await deps.clock.sleep(durationMs(Math.min(left, lookEvery)), done);
    if (done.aborted) return;
    try {
      const now = deps.clock.now();
      await readTail(deps, fold);
      if (isTerminal(fold.state.progress)) return stop.abort();
      if (between(lastBeat, now) < beatEvery) continue;
      await deps.log.beat(fold.head.address, { node: nodeKey(open), at: now, resends: 0 }, fold.head.expiresAt);
      lastBeat = now;
    } catch (trouble) {
      // A missed look or beat costs a repetition at worst.
      if (!(trouble instanceof Unavailable)) throw trouble;
    }
  }
}

const timedOut = (node: PlanNode): Outcome => ({
  kind: 'failed',
  failure: { cause: 'timeout', message: `the attempt took longer than ${node.policy.timeoutMs} ms`, code: 'timeout' },
});

/** A runner threw, which none should: our bug, said as such, and the run goes on by the node's policy. */
const brokeDown = (trouble: unknown): Outcome => ({
  kind: 'failed',
  failure: { cause: 'internal', code: 'internal', message: trouble instanceof Error ? trouble.message : String(trouble) },
});
