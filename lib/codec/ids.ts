/** Branded ids and times at the door: the one constructor of each says whether the text is one. */
import * as z from 'zod';
import * as ids from '../engine/ids.ts';
import { asPolledRunId, asStepAttemptId } from '../engine/polled/ids.ts';
import { traceparent as toTraceparent } from '../engine/trace.ts';
import { durationMs as toDurationMs, instant as toInstant } from '../engine/time.ts';

/** A schema from a constructor that throws. */
const madeBy = <Base, Made>(base: z.ZodType<Base, Base>, make: (value: Base) => Made): z.ZodType<Made, Base> =>
  base.transform((value, context) => {
    try {
      return make(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
      return z.NEVER;
    }
  });

export const projectId = madeBy(z.string(), ids.projectId);
export const environment = madeBy(z.string(), ids.environment);
export const runId = madeBy(z.string(), ids.runId);
export const nodeId = madeBy(z.string(), ids.nodeId);
export const iterationKey = madeBy(z.string(), ids.iterationKey);
export const workflowName = madeBy(z.string(), ids.workflowName);
export const queryName = madeBy(z.string(), ids.queryName);
export const lensName = madeBy(z.string(), ids.lensName);
export const deploymentId = madeBy(z.string(), ids.deploymentId);
export const keyId = madeBy(z.string(), ids.keyId);
export const signalId = madeBy(z.string(), ids.signalId);
export const scheduleId = madeBy(z.string(), ids.scheduleId);
export const connectionId = madeBy(z.string(), ids.connectionId);
export const correlationId = madeBy(z.string(), ids.correlationId);
export const traceparent = madeBy(z.string(), toTraceparent);
export const nonce = madeBy(z.string(), ids.nonce);
export const commitNo = madeBy(z.number(), ids.commitNo);
export const eventId = madeBy(z.number(), ids.eventId);
export const attempt = madeBy(z.number(), ids.attempt);
export const instant = madeBy(z.number(), toInstant);
export const durationMs = madeBy(z.number(), toDurationMs);

/** `nodeId` or `nodeId@iteration`, taken apart and put together again by their one constructor. */
export const nodeKey = madeBy(z.string(), (text) => {
  const [id = '', ...iteration] = text.split('@');
  return ids.nodeKey({ nodeId: ids.nodeId(id), iteration: ids.iterationKey(iteration.join('@')) });
});

/** Texts that an id's reader knows: undefined is what it makes of others. */
const knownBy = <Made>(what: string, known: (text: string) => Made | undefined): z.ZodType<Made, string> =>
  z.string().transform((text, context) => {
    const made = known(text);
    if (made !== undefined) return made;
    context.addIssue({ code: 'custom', message: `no ${what}: ${JSON.stringify(text)}` });
    return z.NEVER;
  });
export const polledRunId = knownBy('id of a run', asPolledRunId);
export const stepAttemptId = knownBy('id of a step attempt', asStepAttemptId);
