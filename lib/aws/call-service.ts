/** What an error of the SDK means: the world's temporary trouble, or a definite answer. */
import { Unavailable } from '../ports/unavailable.ts';
import { isRegionError } from './settings-error.ts';

/** The codes by which services ask for patience while answering with a client error (4xx). */
const retryableCodes = new Set([
  'ProvisionedThroughputExceededException',
  'RequestLimitExceeded',
  'RequestThrottled',
  'RequestThrottledException',
  'RequestTimeout',
  'RequestTimeoutException',
  'SlowDown',
  'Throttling',
  'ThrottlingException',
  'ThrottledException',
  'TooManyRequestsException',
  'TransactionInProgressException',
]);

/** Errors that never left this machine: a bug or a missing credential, which waiting does not mend. */
const localErrors = new Set(['TypeError', 'RangeError', 'CredentialsProviderError', 'InvariantViolation']);

/** A definite answer: nothing was done, and the same request will be refused again. */
const isPermanent = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const status = statusOf(error);
  if (status === undefined) return localErrors.has(error.name) || isRegionError(error);
  return status >= 400 && status < 500 && status !== 429 && !retryableCodes.has(error.name);
};

const statusOf = (error: Error): number | undefined => {
  if (!('$metadata' in error) || typeof error.$metadata !== 'object' || error.$metadata === null) return undefined;
  const { $metadata: metadata } = error;
  return 'httpStatusCode' in metadata && typeof metadata.httpStatusCode === 'number' ? metadata.httpStatusCode : undefined;
};

/**
 * Asks a service. Throttling, 5xx, time-outs, broken connections and whatever is not understood become `Unavailable`:
 * the outcome is unknown, and the same may be asked again. A definite refusal is thrown as it is.
 */
export const callService = async <Result>(what: string, call: () => Promise<Result>): Promise<Result> => {
  try {
    return await call();
  } catch (error) {
    throw isPermanent(error) ? error : new Unavailable(what, { cause: error });
  }
};
