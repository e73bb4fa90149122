/** What the author's code is told by a wait that has ended. */
import type { ReceivedSignal } from '../graph/facts.ts';
import { type Payload, inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { ChildWait } from '../log/node-state.ts';

/** Null is the answer of a wait that was over without a signal, so what a signal brings is wrapped. */
export const outputOfSignal = ({ payload }: ReceivedSignal): Payload => inline({ data: payload });

/** Of a step whose called run did not end in time. */
export const workflowExpiredCode = 'workflow_expired';

export const workflowExpired = ({ workflowName, childRunId }: ChildWait): Failure => ({
  cause: 'timeout',
  code: workflowExpiredCode,
  message: `the run of ${workflowName} did not end in time, and goes on without this one`,
  details: { childRunId },
});
