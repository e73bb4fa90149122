/** The external requests and faults that a topology can apply to its run. */
import type { JsonValue } from '../../lib/engine/json.ts';
import type { DurationMs } from '../../lib/engine/time.ts';
import type { CancelResult } from '../../lib/service/runs/cancel-run.ts';
import type { SweepResult } from '../../lib/service/execution/sweep-runs.ts';

export interface RunActions {
  /** starts the run; its first jobs lie in the queue then */
  readonly start: () => Promise<void>;
  /** takes all that can be taken without time passing */
  readonly settle: () => Promise<void>;
  /** lets time pass, and takes what becomes due, when it does */
  readonly advanceTime: (time: DurationMs) => Promise<void>;
  /** lets time pass and delivers no message: a backlog, or no worker */
  readonly advanceIdle: (time: DurationMs) => Promise<void>;
  /** takes all that is left, however late it is due */
  readonly finish: () => Promise<void>;
  /** loses every message that lies in a queue, and every timer */
  readonly loseMessages: () => Promise<void>;
  /** delivers now what is due later: a timer that comes too early */
  readonly deliverTimersEarly: () => Promise<void>;
  readonly sweep: () => Promise<SweepResult>;
  /** sends a signal; without a correlation to the run, by its id */
  readonly send: (
    name: string,
    payload: JsonValue,
    how?: { readonly correlation?: string; readonly expiresIn?: DurationMs },
  ) => Promise<{ readonly isDelivered: boolean }>;
  readonly cancel: (reason?: string) => Promise<CancelResult>;
  /** cancels the run that this node called */
  readonly cancelCalled: (node: string, reason?: string) => Promise<CancelResult>;
  readonly wake: (...nodeIds: readonly string[]) => Promise<readonly string[]>;
  readonly resume: (reason: string) => Promise<void>;
}
