/** What sending a signal comes to. */
import { NonRetryableError } from '../sdk/errors.ts';

export interface SentSignal {
  readonly signalId: string;
  /**
   * Nobody knows them here: a signal goes to one wait, and is kept for one that has not begun.
   * @throws NonRetryableError `openworkflow_unsupported`, always
   */
  readonly workflowRunIds: readonly string[];
}

/** Every signal has this correlation: the library knows a signal by its name alone. */
export const sharedCorrelation = 'openworkflow';

export const sentSignal = (signalId: string): SentSignal =>
  // Not counted among its fields: whoever stores or prints the answer has not asked for it.
  Object.defineProperty({ signalId, workflowRunIds: [] }, 'workflowRunIds', {
    enumerable: false,
    get(): never {
      throw new NonRetryableError('a signal is kept for whoever waits for it, so nobody can say which runs it reaches', {
        code: 'openworkflow_unsupported',
      });
    },
  });
