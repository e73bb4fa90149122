/** What can happen to a run: the questions that `decide` answers with events. */
import type { Attempt, NodeId, NodeRef, RunId, SignalId } from '../ids.ts';
import type { JsonValue, Payload } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { Instant } from '../time.ts';
import type { Outcome } from './outcome.ts';

export interface ReceivedSignal {
  readonly signalId: SignalId;
  readonly payload: JsonValue;
  /** when it came to the service */
  readonly receivedAt: Instant;
}

/** How a run that was called has ended. */
export type ChildEnd =
  | { readonly status: 'completed'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: Failure }
  | { readonly status: 'cancelled'; readonly reason?: string }
  /** it could not be made at all */
  | { readonly status: 'refused'; readonly error: Failure };

export type Fact =
  | { readonly kind: 'node-started'; readonly node: NodeRef; readonly attempt: Attempt; readonly startedAt: Instant }
  | {
      readonly kind: 'node-ended';
      readonly node: NodeRef;
      readonly attempt: Attempt;
      readonly outcome: Outcome;
      readonly startedAt: Instant;
      readonly endedAt: Instant;
      readonly printed: readonly string[];
    }
  /** a waiting node's time has come; too early, and it changes nothing */
  | { readonly kind: 'node-woken'; readonly node: NodeRef; readonly attempt: Attempt }
  /** somebody wants sleeping nodes to go on now: those of these ids, or all where none are named */
  | { readonly kind: 'wake-requested'; readonly nodeIds?: readonly NodeId[] }
  /** somebody outside wants the run to go on, and says why: it is told in the log, and whatever sleeps is woken */
  | { readonly kind: 'resume-requested'; readonly reason?: string; readonly payload?: Payload; readonly token?: string }
  /** a signal has come that this node awaits */
  | { readonly kind: 'signal-received'; readonly node: NodeRef; readonly attempt: Attempt; readonly signal: ReceivedSignal }
  /** the run that this node called has ended */
  | {
      readonly kind: 'child-ended';
      readonly node: NodeRef;
      readonly attempt: Attempt;
      readonly childRunId: RunId;
      readonly end: ChildEnd;
    }
  /** the node's message died before an answer came */
  | { readonly kind: 'node-lost'; readonly node: NodeRef; readonly attempt: Attempt; readonly failure: Failure }
  /** the run holds this place of its workflow */
  | { readonly kind: 'slot-taken'; readonly slot: number }
  | { readonly kind: 'cancel-requested'; readonly reason?: string }
  | { readonly kind: 'deadline-passed' }
  | { readonly kind: 'recovered'; readonly nodes: readonly string[] };
