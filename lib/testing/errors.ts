/** The errors that the test kit throws. */
import type { JsonObject } from '../engine/json.ts';
import type { Failure } from '../engine/log/events.ts';

/** `result()` of a run that failed or was cancelled. */
export class RunError extends Error {
  override readonly name = 'RunError';
  readonly runId: string;
  readonly status: 'failed' | 'cancelled';
  /** the cause: `error` (the code or a step threw), `invalid` (a retry cannot help), `timeout`, …; `cancelled` for a cancelled run */
  override readonly cause: string;
  /** the stable error code: that of the thrown error or the platform's (`deadline_exceeded`); `run_cancelled` for a cancelled run */
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

/** The code requests another step than its history contains, so a run in progress could not continue with it. */
export class NondeterminismError extends Error {
  override readonly name = 'NondeterminismError';
  readonly code = 'replay_diverged';
  /** `recorded` and `requested` name both steps; `position` is the number of the step, from 1 */
  readonly details: JsonObject;

  constructor(message: string, details: JsonObject) {
    super(message);
    this.details = details;
  }
}

export type TestErrorCode =
  /** the workflow is not in the test's `workflows` */
  | 'workflow_unknown'
  /** not created by `defineWorkflow`, or with an invalid policy */
  | 'workflow_invalid'
  | 'input_invalid'
  /** the run waits for something that only the test can cause: a signal */
  | 'run_blocked'
  | 'run_ended'
  | 'history_invalid'
  /** an error in the test kit itself */
  | 'unexpected';

/** The test uses the kit wrongly, or the kit has an error; the workflow is not the cause. */
export class TestError extends Error {
  override readonly name = 'TestError';
  readonly code: TestErrorCode;

  constructor(code: TestErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
