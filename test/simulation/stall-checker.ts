/**
 * Checks that no node stalls. The log gives each open node a time by which it must progress. A node that exceeds this time by
 * more than recovery needs is a violation, even if other nodes of the run progress.
 */
import { type RunAddress, type RunId, nodeKey } from '../../lib/engine/ids.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type RunState, isTerminal, isWaitingForSlot } from '../../lib/engine/log/fold.ts';
import { type OpenNode, waitEndsAt, isOpen } from '../../lib/engine/log/node-state.ts';
import { hours, minutes } from '../../lib/engine/time.ts';
import { runInvariant } from './violation.ts';

/** The time of a worker, and the five minutes by which a timer may be late (timing-checker.ts). */
const mostCalmBehindMs = minutes(20);
/**
 * By then a node with crashing workers has been sent nine times, after heartbeat timeouts of 100 s that double up to one hour.
 * Its first message is a dead letter by then: each of five workers may hold it for sixteen minutes.
 */
const mostBehindMs = hours(6);
/** The longest interval between two checks of a run that waits for another one, and one hour of failed checks. */
const mostUntoldMs = hours(7);

interface Due {
  readonly node: string;
  readonly at: number;
  readonly mostMs: number;
}

/**
 * Ten attempts of a step, each of which takes up to one hour to end as lost; or a slow queue with a hundred loop iterations, which
 * each worker crash blocks for 16 minutes.
 */
const mostHeldUpMs = 24 * 3_600_000;

export class StallChecker {
  readonly #states = new Map<string, RunState>();
  readonly #dues = new Map<string, Due>();
  /** by run that was called: when it ended */
  readonly #endedAt = new Map<string, number>();
  /** by run that was called: its caller */
  readonly #callers = new Map<string, RunId>();
  readonly #mostMs: number;
  /** the longest that any node was behind its time */
  maxBehindMs = 0;

  /**
   * @param isPlain no faults and no delays
   * @param isHeldUp attempts kill their workers: what stands beside one in a workflow task waits for all of its attempts; or many
   * attempts wait in slow lanes
   */
  constructor(isPlain: boolean, isHeldUp = false) {
    this.#mostMs = isHeldUp ? mostHeldUpMs : isPlain ? mostCalmBehindMs : mostBehindMs;
  }

  /** @param state of the run with this commit */
  committed({ runId }: RunAddress, { events }: Commit, state: RunState | undefined, now: number): void {
    this.#moves(runId, now);
    if (state === undefined) return;
    this.#states.set(runId, state);
    for (const event of events) if (event.type === 'SUBFLOW_CALLED') this.#callers.set(event.childRunId, runId);
    this.#look(runId);
    if (!isTerminal(state.progress)) return;
    this.#endedAt.set(runId, now);
    const caller = this.#callers.get(runId);
    if (caller !== undefined) this.#look(caller);
  }

  check(now: number): void {
    for (const runId of this.#dues.keys()) this.#moves(runId, now);
  }

  #moves(runId: string, now: number): void {
    const due = this.#dues.get(runId);
    if (due === undefined) return;
    const behindMs = now - due.at;
    this.maxBehindMs = Math.max(this.maxBehindMs, behindMs);
    runInvariant(5, behindMs <= due.mostMs, `${runId} has stalled: ${due.node} is ${behindMs} ms behind its time`);
  }

  /** Notes which of its nodes is to move first. */
  #look(runId: string): void {
    this.#dues.delete(runId);
    const state = this.#states.get(runId);
    if (state === undefined || isTerminal(state.progress) || isWaitingForSlot(state)) return;
    let first: Due | undefined;
    for (const key of state.open.keys()) {
      const node = state.nodes.get(key);
      const due = node !== undefined && isOpen(node) ? this.#dueOf(node) : undefined;
      if (due !== undefined && due.at + due.mostMs < (first === undefined ? Infinity : first.at + first.mostMs)) first = due;
    }
    if (first !== undefined) this.#dues.set(runId, first);
  }

  /** @returns undefined where only a signal, a run that goes on, or its passes move it */
  #dueOf(node: OpenNode): Due | undefined {
    const name = nodeKey(node);
    const own = ownTime(node);
    if (own !== undefined) return { node: name, at: own, mostMs: this.#mostMs };
    const endedAt = node.status === 'waiting' && node.for === 'child' ? this.#endedAt.get(node.childRunId) : undefined;
    return endedAt === undefined ? undefined : { node: name, at: endedAt, mostMs: mostUntoldMs };
  }
}

/** By when the log has it move by itself. */
function ownTime(node: OpenNode): number | undefined {
  if (node.status === 'waiting') return waitEndsAt(node);
  return node.status === 'queued' ? (node.notBefore ?? node.dispatchedAt) : node.dispatchedAt;
}
