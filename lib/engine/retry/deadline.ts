/** The failure of a run that exceeded its deadline, the same for every kind of run. */
import type { Failure } from '../log/events.ts';

export const deadlineExceeded: Failure = {
  cause: 'deadline',
  code: 'deadline_exceeded',
  message: 'the deadline of the run has passed',
};
