/** The one form in which every refusal is answered. */
import { type ErrorCode, type Fault, type ErrorEntry, type RefusalDetails, errorCatalogue } from './errors.ts';

export interface ErrorEnvelope {
  readonly code: ErrorCode;
  readonly message: string;
  readonly required?: string;
  readonly recovery?: string;
  readonly correlationId: string;
  readonly errors?: readonly Fault[];
}

/** Faults told at most; a body that is wrong everywhere is not answered with as much again. */
const mostFaults = 100;

export const envelope = (code: ErrorCode, correlationId: string, details: RefusalDetails = {}): ErrorEnvelope => {
  const entry: ErrorEntry = errorCatalogue[code];
  return {
    code,
    message: details.message ?? entry.message,
    ...(details.required === undefined ? {} : { required: details.required }),
    ...(entry.recovery === undefined ? {} : { recovery: entry.recovery }),
    correlationId,
    ...(details.errors === undefined ? {} : { errors: details.errors.slice(0, mostFaults) }),
  };
};
