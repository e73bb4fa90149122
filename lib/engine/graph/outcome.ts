/** What became of one attempt of a node. The engine asks only this, never the node's type. */
import type { Payload } from '../json.ts';
import type { Failure, Gate, LoopSettings, TokenCount } from '../log/events.ts';
import type { DurationMs, Instant } from '../time.ts';

export type Outcome =
  | {
      readonly kind: 'finished';
      readonly output: Payload;
      /** names the outgoing edges that become live; null for an end */
      readonly handle: string | null;
      /** an end node: its output is the run's, or a part of it, and it says whether the run ends well */
      readonly end?: 'success' | 'error';
      /** what a model counted for this attempt */
      readonly tokens?: TokenCount;
    }
  | {
      readonly kind: 'failed';
      readonly failure: Failure;
      /** a wait the other side asked for */ readonly retryAfterMs?: DurationMs;
      /** what stopped it, where that is told by an event of its own */
      readonly gate?: Gate;
      readonly tokens?: TokenCount;
    }
  /** sleeps until then, and is finished with this output when it wakes */
  | { readonly kind: 'sleeping'; readonly wakeAt: Instant; readonly output: Payload }
  /** a loop: takes its body through these items, an array */
  | (LoopSettings & { readonly kind: 'expanding'; readonly items: Payload })
  /** waits for a signal from outside, and is finished with it */
  | {
      readonly kind: 'awaiting';
      readonly name: string;
      /** absent: the run's own id */
      readonly correlation?: string;
      /** absent: as long as the run lasts */
      readonly expiresAt?: Instant;
      /** the way out when no signal came in time; absent: the node fails then */
      readonly expiryHandle?: string;
    }
  /** calls another workflow, and is finished with what it gives */
  | {
      readonly kind: 'calling';
      readonly workflowName: string;
      /** absent: the latest */
      readonly version?: number;
      readonly input: Payload;
      /** absent: as long as the run lasts */
      readonly expiresAt?: Instant;
      readonly parentClosePolicy: 'cancel' | 'abandon';
      readonly onChildCancelled: 'fail' | 'cancel';
    };

/** The main way out of a node that has no branches; edges without a handle follow it, and `success` names it too. */
export const mainHandle = 'output';
export const errorHandle = 'error';

/** Does an edge with this source handle become live when the node ends with `handle`? */
export const handleMatches = (edgeHandle: string | undefined, handle: string | null): boolean =>
  handle !== null && canonical(edgeHandle ?? mainHandle) === canonical(handle);

const canonical = (handle: string): string => (handle === 'success' ? mainHandle : handle);
