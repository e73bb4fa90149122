/** The outcome of one attempt. The engine depends on it alone, never on the node's type. */
import type { Payload } from '../json.ts';
import type { Failure, Gate, LoopSettings, TokenCount } from '../log/events.ts';
import type { DurationMs, Instant } from '../time.ts';

export type Outcome =
  | {
      readonly kind: 'finished';
      readonly output: Payload;
      /** selects the outgoing edges that become live; null for an end node */
      readonly handle: string | null;
      /** of an end node: its output is the run's output or a part of it, and this is whether the run succeeds */
      readonly end?: 'success' | 'error';
      /** tokens that models reported for this attempt */
      readonly tokens?: TokenCount;
    }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      /** delay that the remote side requested */ readonly retryAfterMs?: DurationMs;
      /** the gate that stopped the attempt; it has an event of its own */
      readonly gate?: Gate;
      readonly tokens?: TokenCount;
    }
  /** sleeps until `wakeAt`, then completes with this output */
  | { readonly kind: 'sleeping'; readonly wakeAt: Instant; readonly output: Payload }
  /** a loop: runs its body for each of these items, an array */
  | (LoopSettings & { readonly kind: 'expanding'; readonly items: Payload })
  /** waits for a signal, and completes with it */
  | {
      readonly kind: 'awaiting';
      readonly name: string;
      /** absent: the run id */
      readonly correlation?: string;
      /** absent: with the run */
      readonly expiresAt?: Instant;
      /** the handle to take when the wait expires; absent: the node fails */
      readonly expiryHandle?: string;
    }
  /** calls another workflow, and completes with its output */
  | {
      readonly kind: 'calling';
      readonly workflowName: string;
      /** absent: the latest version */
      readonly version?: number;
      readonly input: Payload;
      /** absent: with the run */
      readonly expiresAt?: Instant;
      readonly parentClosePolicy: 'cancel' | 'abandon';
      readonly onChildCancelled: 'fail' | 'cancel';
    };

/** The main handle of a node without branches. Edges without a handle use it; `success` is an alias. */
export const mainHandle = 'output';
export const errorHandle = 'error';

/** A loop's handle into its body, and its handle after the last item. */
export const bodyHandle = 'loop';
export const doneHandle = 'done';
/** alias of `done` */
export const completedHandle = 'completed';

/** Whether an edge with this source handle becomes live when the node ends by `handle`. */
export const handleMatches = (edgeHandle: string | undefined, handle: string | null): boolean =>
  handle !== null && canonical(edgeHandle ?? mainHandle) === canonical(handle);

const canonical = (handle: string): string => (handle === 'success' ? mainHandle : handle);
