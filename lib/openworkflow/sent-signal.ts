/** The result of sending a signal. */
import { NonRetryableError } from '../sdk/errors.ts';

export interface SentSignal {
  readonly signalId: string;
  /**
   * Unknown on this platform: a signal goes to one wait, and is stored for a wait that has not begun.
   * @throws NonRetryableError `openworkflow_unsupported`, always
   */
  readonly workflowRunIds: readonly string[];
}

/** The correlation of all signals: the library identifies a signal by its name alone. */
export const sharedCorrelation = 'openworkflow';

export const sentSignal = (signalId: string): SentSignal =>
  // Not enumerable: storing or printing the result must not call the getter.
  Object.defineProperty({ signalId, workflowRunIds: [] }, 'workflowRunIds', {
    enumerable: false,
    get(): never {
      throw new NonRetryableError('a signal is stored until a run waits for it, so the runs that it reaches are not known', {
        code: 'openworkflow_unsupported',
      });
    },
  });
