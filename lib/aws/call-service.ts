/** Classifies errors of the AWS SDK as temporary (`Unavailable`) or permanent. */
import { Unavailable } from '../ports/unavailable.ts';
import { isRegionError } from './settings-error.ts';

/** Temporary errors that services report with a client error status (4xx). */
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

/** Errors before the request was sent, such as a bug or missing credentials. A retry does not help. */
const localErrors = new Set(['TypeError', 'RangeError', 'CredentialsProviderError', 'InvariantViolation']);

/** The service did nothing and would refuse the same request again. */
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
 * Calls a service. Throttling, 5xx, time-outs, broken connections and unknown errors become `Unavailable`: the outcome is
 * unknown, and the caller may repeat the request. Permanent errors are rethrown unchanged.
 * @param what the service, for the error message
 */
export const callService = async <Result>(what: string, call: () => Promise<Result>): Promise<Result> => {
  try {
    return await call();
  } catch (error) {
    throw isPermanent(error) ? error : new Unavailable(what, { cause: error });
  }
};
