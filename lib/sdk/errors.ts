/** Errors that workflow code throws and catches. */
import { errorMark, isMarked } from './marks.ts';
import type { Json } from './stored.ts';

export interface ErrorFields {
  /** stable error code for programs */
  readonly code?: string;
  readonly details?: { readonly [key: string]: Json };
}

/** Throw it in a step or a workflow to fail without a retry. The retry policy does not apply. */
export class NonRetryableError extends Error {
  override readonly name = 'NonRetryableError';
  readonly [errorMark] = 'non-retryable';
  readonly code?: string;
  readonly details?: { readonly [key: string]: Json };

  constructor(message: string, { code, details, ...options }: ErrorFields & ErrorOptions = {}) {
    super(message, options);
    if (code !== undefined) this.code = code;
    if (details !== undefined) this.details = details;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isMarked(value, 'non-retryable');
  }
}

/** A step has failed and is not retried. The error is built from the log, so each replay catches the same error. */
export class StepError extends Error {
  override readonly name = 'StepError';
  readonly [errorMark] = 'step';
  /** the key of the step */
  readonly step: string;
  /** why: `error` (it threw), `code_error` (a mistake in the code), `timeout`, `invalid` (a retry cannot succeed), `lost` … */
  override readonly cause: string;
  readonly code?: string;
  readonly details?: { readonly [key: string]: Json };

  constructor(message: string, { step, cause, code, details }: ErrorFields & { readonly step: string; readonly cause: string }) {
    super(message);
    this.step = step;
    this.cause = cause;
    if (code !== undefined) this.code = code;
    if (details !== undefined) this.details = details;
  }

  static override [Symbol.hasInstance](value: unknown): boolean {
    return isMarked(value, 'step');
  }

  toJSON(): { readonly [key: string]: unknown } {
    return { name: this.name, message: this.message, step: this.step, cause: this.cause, code: this.code, details: this.details };
  }
}
