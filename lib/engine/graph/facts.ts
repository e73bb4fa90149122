/** Facts: what can happen to a graph run. `decide` turns them into events. */
import type { CommonFact, NodeLost } from '../decision.ts';
import type { Attempt, NodeRef, RunId, SignalId } from '../ids.ts';
import type { JsonValue, Payload } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { WakeRequest } from '../log/open-nodes.ts';
import type { Instant } from '../time.ts';
import type { Outcome } from './outcome.ts';

export interface ReceivedSignal {
  readonly signalId: SignalId;
  readonly payload: JsonValue;
  /** when the service received it */
  readonly receivedAt: Instant;
}

/** How a called run ended. */
export type ChildEnd =
  | { readonly status: 'completed'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: Failure }
  | { readonly status: 'cancelled'; readonly reason?: string }
  /** it could not be created */
  | { readonly status: 'refused'; readonly error: Failure };

export type Fact =
  | CommonFact
  | NodeLost
  | {
      readonly kind: 'node-ended';
      readonly node: NodeRef;
      readonly attempt: Attempt;
      readonly outcome: Outcome;
      readonly startedAt: Instant;
      readonly endedAt: Instant;
      readonly printed: readonly string[];
    }
  /** the wait of a node has ended; if it is too early, nothing changes */
  | { readonly kind: 'node-woken'; readonly node: NodeRef; readonly attempt: Attempt }
  /** a request to wake sleeping nodes, or to retry nodes in backoff now: these, or all if none are named */
  | ({ readonly kind: 'wake-requested' } & WakeRequest)
  /** a request to resume the run: it is recorded with its reason, and all sleeping nodes wake */
  | { readonly kind: 'resume-requested'; readonly reason?: string; readonly payload?: Payload; readonly token?: string }
  /** a signal that this node awaits has arrived */
  | { readonly kind: 'signal-received'; readonly node: NodeRef; readonly attempt: Attempt; readonly signal: ReceivedSignal }
  /** the run that this node called has ended */
  | {
      readonly kind: 'child-ended';
      readonly node: NodeRef;
      readonly attempt: Attempt;
      readonly childRunId: RunId;
      readonly end: ChildEnd;
    }
  /** the run holds this concurrency slot of its workflow */
  | { readonly kind: 'slot-taken'; readonly slot: number };
