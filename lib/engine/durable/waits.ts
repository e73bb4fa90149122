/** Results that the author's code receives from ended waits. */
import type { ReceivedSignal } from '../graph/facts.ts';
import { type Payload, inline } from '../json.ts';
import type { Failure } from '../log/events.ts';
import type { ChildWait } from '../log/node-state.ts';

/** Null is the result of an expired wait, so a signal's payload is wrapped. */
export const outputOfSignal = ({ payload }: ReceivedSignal): Payload => inline({ data: payload });

/** Failure code of a step whose called run did not end before the wait expired. */
export const workflowExpiredCode = 'workflow_expired';

export const workflowExpired = ({ workflowName, childRunId }: ChildWait): Failure => ({
  cause: 'timeout',
  code: workflowExpiredCode,
  message: `the called run of ${workflowName} did not end before the wait expired; it continues by itself`,
  details: { childRunId },
});
