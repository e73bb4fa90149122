/** Builds the body of error responses. */
import { defined } from '../base/defined.ts';
import { type ErrorCode, type ErrorDetail, type ErrorEntry, type ErrorResponseFields, errorCatalogue } from './errors.ts';

export interface ErrorEnvelope {
  readonly code: ErrorCode;
  readonly message: string;
  readonly required?: string;
  readonly recovery?: string;
  readonly correlationId: string;
  readonly errors?: readonly ErrorDetail[];
}

/** Maximum number of error details, so that a response stays small. */
export const maxErrorDetails = 100;

export const createErrorEnvelope = (code: ErrorCode, correlationId: string, details: ErrorResponseFields = {}): ErrorEnvelope => {
  const entry: ErrorEntry = errorCatalogue[code];
  return defined({
    code,
    message: details.message ?? entry.message,
    required: details.required,
    recovery: entry.recovery,
    correlationId,
    errors: details.errors === undefined ? undefined : details.errors.slice(0, maxErrorDetails),
  });
};
