/** The end of an attempt: its result, another attempt, or a final failure. */
import { defined } from '../../base/defined.ts';
import { type NodeLost, emit, findOpenNode, hasEnded, latestDeadline, markRunning } from '../decision.ts';
import { type NodeRef, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { Failure, Gate, RunEvent, Via } from '../log/events.ts';
import type { OpenNode } from '../log/node-state.ts';
import { backoff, retryableCauses } from '../retry.ts';
import { after } from '../time.ts';
import { advance } from './advance.ts';
import { hasExecutionsLeft, checkExecutionBudget, checkTokenBudget } from './budget.ts';
import { type Draft, canRunOneInline } from './draft.ts';
import type { Fact } from './facts.ts';
import { storableOutcome } from './payload-limits.ts';
import type { PlanNodeRef, PlanNode } from './plan.ts';
import { type AttemptTimes, failNode, recordFailure, recordResult } from './record-outcome.ts';

type NodeEnded = Extract<Fact, { kind: 'node-ended' }>;

export function endAttempt(draft: Draft, fact: NodeEnded): void {
  const outcome = storableOutcome(fact.outcome);
  const open = findOpenNode(draft, fact.node, fact.attempt);
  if (open === undefined || open.status === 'waiting') return;
  const nodeRef = plannedNode(draft, fact.node);
  const tokens = outcome.kind === 'finished' || outcome.kind === 'failed' ? outcome.tokens : undefined;
  const times: AttemptTimes = defined({
    attempt: fact.attempt,
    startedAt: fact.startedAt,
    endedAt: fact.endedAt,
    printed: fact.printed.length === 0 ? undefined : fact.printed,
    tokens,
  });
  markRunning(draft);
  if (outcome.kind === 'failed') {
    if (outcome.gate !== undefined) emit(draft, gateEvent(fact, outcome.gate));
    failOrRetry(draft, nodeRef, open, outcome.failure, times, outcome.retryAfterMs);
  } else recordResult(draft, nodeRef, outcome, times);
  if (!hasEnded(draft)) checkTokenBudget(draft, fact.node, tokens);
  if (!hasEnded(draft)) advance(draft, [nodeRef]);
}

/** The event of the gate that stopped the attempt. */
const gateEvent = ({ node, attempt }: NodeEnded, gate: Gate): RunEvent =>
  gate.kind === 'contract'
    ? { type: 'CONTRACT_VIOLATED', ...node, attempt, phase: gate.phase, errors: gate.errors }
    : { type: 'MODERATION_FLAGGED', ...node, attempt, phase: gate.phase, decision: gate.decision };

/** The attempt ended as lost. The node's retry policy decides about another attempt. */
export function loseAttempt(draft: Draft, { node: ref, attempt, failure }: NodeLost): void {
  const open = findOpenNode(draft, ref, attempt);
  if (open === undefined) return;
  const nodeRef = plannedNode(draft, open);
  const startedAt = open.status === 'running' ? open.startedAt : open.dispatchedAt;
  const times = { attempt, startedAt, endedAt: draft.tools.now };
  markRunning(draft);
  const retry = planRetry(draft, nodeRef.node, open, failure);
  if (retry === undefined) {
    const { nodeId, iteration } = open;
    const where = iteration === topLevel ? {} : { iteration };
    emit(draft, {
      type: 'SYSTEM_SET',
      key: '__recoveryError',
      value: { value: { nodeId, ...where, message: failure.message } },
    });
    failNode(draft, nodeRef, failure, attempt, times);
  } else retryAttempt(draft, nodeRef, failure, times, retry);
  if (!hasEnded(draft)) advance(draft, [nodeRef]);
}

/** Plans another attempt if the node's retry policy allows one; otherwise the failure is final. */
export function failOrRetry(
  draft: Draft,
  nodeRef: PlanNodeRef,
  open: OpenNode,
  failure: Failure,
  times: AttemptTimes,
  requestedDelayMs?: number,
): void {
  const retry = planRetry(draft, nodeRef.node, open, failure, requestedDelayMs);
  if (retry === undefined) failNode(draft, nodeRef, failure, times.attempt, times);
  else retryAttempt(draft, nodeRef, failure, times, retry);
}

/** Another attempt. If the budget has none left, the failure is recorded and the run ends. */
function retryAttempt(
  draft: Draft,
  nodeRef: PlanNodeRef,
  failure: Failure,
  times: AttemptTimes,
  retry: NonNullable<ReturnType<typeof planRetry>>,
): void {
  const ref: NodeRef = { nodeId: nodeRef.node.id, iteration: nodeRef.iteration };
  if (hasExecutionsLeft(draft)) return emit(draft, { type: 'NODE_RETRIED', ...ref, failure, ...times, ...retry });
  recordFailure(draft, nodeRef, failure, times.attempt, times);
  checkExecutionBudget(draft, [ref]);
}

/** Shorter delays happen in the worker; queues delay by whole seconds. */
export const minQueueDelayMs = 1_000;

function planRetry(draft: Draft, node: PlanNode, open: OpenNode, failure: Failure, requestedDelayMs: number = 0) {
  const { retry } = node.policy;
  const cause = retryableCauses.find((retryable) => retryable === failure.cause);
  if (cause === undefined || !retry.retryOn.includes(cause) || open.attempt >= retry.attempts) return undefined;
  const delayMs = backoff(retry, open.attempt, draft.tools.random(), requestedDelayMs);
  const retryAt = after(draft.tools.now, delayMs);
  if (retryAt > latestDeadline(draft)) return undefined;
  const isInline = delayMs < minQueueDelayMs && open.via !== 'collect' && canRunOneInline(draft);
  const via: Via = open.via === 'collect' ? 'collect' : isInline ? 'inline' : 'queue';
  return { delayMs, retryAt, via };
}

export function plannedNode(draft: Draft, ref: NodeRef): PlanNodeRef {
  const node = draft.tools.plan.nodes.get(ref.nodeId);
  invariant(node !== undefined, `the log names node ${ref.nodeId}, which the pinned version does not have`);
  return { node, iteration: ref.iteration };
}
