/** What a test is told by way of an error. */
import type { JsonObject } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';

/** `result()` of a run that has not completed. */
export class RunError extends Error {
  override readonly name = 'RunError';
  readonly runId: string;
  readonly status: 'failed' | 'cancelled';
  /** why: `error` (the code or a step threw), `invalid` (no further try can mend it), `timeout`, …; `cancelled` of one that was cancelled */
  override readonly cause: string;
  /** the stable name of the trouble: that of the error that was thrown, or the platform's (`deadline_exceeded`); `run_cancelled` */
  readonly code: string;
  readonly details: JsonObject;

  constructor(runId: string, end: { readonly error: Failure } | { readonly reason: string | undefined }) {
    super('error' in end ? end.error.message : (end.reason ?? 'the run was cancelled'));
    this.runId = runId;
    this.status = 'error' in end ? 'failed' : 'cancelled';
    this.cause = 'error' in end ? end.error.cause : 'cancelled';
    this.code = 'error' in end ? (end.error.code ?? end.error.cause) : 'run_cancelled';
    this.details = 'error' in end ? (end.error.details ?? {}) : {};
  }
}

/** The code asks for something else than it did when the history was written: a run under way could not go on with it. */
export class NondeterminismError extends Error {
  override readonly name = 'NondeterminismError';
  readonly code = 'replay_diverged';
  /** `recorded` and `asked` name both steps, `position` says which of the steps it is, from 1 */
  readonly details: JsonObject;

  constructor(message: string, details: JsonObject) {
    super(message);
    this.details = details;
  }
}

export type TestErrorCode =
  /** the test was not given this workflow */
  | 'workflow_unknown'
  /** what `defineWorkflow` has not made, or with an impossible policy */
  | 'workflow_invalid'
  | 'input_invalid'
  /** the run waits for what does not come by itself: a signal that nobody has sent */
  | 'run_blocked'
  | 'run_ended'
  | 'history_invalid'
  /** the kit itself is at fault */
  | 'unexpected';

/** The test, and not the workflow, is at fault. */
export class TestError extends Error {
  override readonly name = 'TestError';
  readonly code: TestErrorCode;

  constructor(code: TestErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
