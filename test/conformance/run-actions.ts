/** The external requests and faults that a topology can apply to its run. */
import type { JsonValue } from '../../lib/engine/json.ts';
import type { DurationMs } from '../../lib/engine/time.ts';
import type { CancelResult } from '../../lib/service/runs/cancel-run.ts';
import type { SweepResult } from '../../lib/service/execution/sweep-runs.ts';

export interface RunActions {
  /** starts the run; its first jobs are in the queue then */
  readonly start: () => Promise<void>;
  /** delivers all messages that are available without advancing time */
  readonly settle: () => Promise<void>;
  /** advances time and delivers messages when they become due */
  readonly advanceTime: (time: DurationMs) => Promise<void>;
  /** lets time pass and delivers no message: a backlog, or no worker */
  readonly advanceIdle: (time: DurationMs) => Promise<void>;
  /** delivers all remaining messages, however late they are due */
  readonly finish: () => Promise<void>;
  /** loses every queued message and every timer */
  readonly loseMessages: () => Promise<void>;
  /** delivers messages before their due time */
  readonly deliverTimersEarly: () => Promise<void>;
  readonly sweep: () => Promise<SweepResult>;
  /** sends a signal; without a correlation to the run, by its id */
  readonly send: (
    name: string,
    payload: JsonValue,
    how?: { readonly correlation?: string; readonly expiresIn?: DurationMs },
  ) => Promise<{ readonly isDelivered: boolean }>;
  readonly cancel: (reason?: string) => Promise<CancelResult>;
  /** cancels the child run of this node */
  readonly cancelCalled: (node: string, reason?: string) => Promise<CancelResult>;
  readonly wake: (...nodeIds: readonly string[]) => Promise<readonly string[]>;
  readonly resume: (reason: string) => Promise<void>;
}
