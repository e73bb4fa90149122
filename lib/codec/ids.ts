/** Schemas of branded ids and times. The constructor of each type validates the value. */
import * as z from 'zod';
import * as ids from '../engine/ids.ts';
import { parseExternalRunId, parseStepAttemptId } from '../engine/external/run.ts';
import { traceparent as toTraceparent } from '../engine/trace.ts';
import { durationMs as toDurationMs, instant as toInstant } from '../engine/time.ts';

/** A schema from a constructor that throws on invalid values. */
const fromConstructor = <Base, Made>(base: z.ZodType<Base, Base>, make: (value: Base) => Made): z.ZodType<Made, Base> =>
  base.transform((value, context) => {
    try {
      return make(value);
    } catch (error) {
      context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) });
      return z.NEVER;
    }
  });

export const projectId = fromConstructor(z.string(), ids.projectId);
export const environment = fromConstructor(z.string(), ids.environment);
export const runId = fromConstructor(z.string(), ids.runId);
export const nodeId = fromConstructor(z.string(), ids.nodeId);
export const iterationKey = fromConstructor(z.string(), ids.iterationKey);
export const workflowName = fromConstructor(z.string(), ids.workflowName);
export const queryName = fromConstructor(z.string(), ids.queryName);
export const lensName = fromConstructor(z.string(), ids.lensName);
export const deploymentId = fromConstructor(z.string(), ids.deploymentId);
export const appName = fromConstructor(z.string(), ids.appName);
export const keyId = fromConstructor(z.string(), ids.keyId);
export const signalId = fromConstructor(z.string(), ids.signalId);
export const scheduleId = fromConstructor(z.string(), ids.scheduleId);
export const embedId = fromConstructor(z.string(), ids.embedId);
export const sessionId = fromConstructor(z.string(), ids.sessionId);
export const connectionId = fromConstructor(z.string(), ids.connectionId);
export const correlationId = fromConstructor(z.string(), ids.correlationId);
export const traceparent = fromConstructor(z.string(), toTraceparent);
export const nonce = fromConstructor(z.string(), ids.nonce);
export const commitNo = fromConstructor(z.number(), ids.commitNo);
export const eventId = fromConstructor(z.number(), ids.eventId);
export const attempt = fromConstructor(z.number(), ids.attempt);
export const instant = fromConstructor(z.number(), toInstant);
export const durationMs = fromConstructor(z.number(), toDurationMs);

/** `nodeId` or `nodeId@iteration`, parsed and rebuilt by the constructors of its parts. */
export const nodeKey = fromConstructor(z.string(), (text) => {
  const [id = '', ...iteration] = text.split('@');
  return ids.nodeKey({ nodeId: ids.nodeId(id), iteration: ids.iterationKey(iteration.join('@')) });
});

/** A schema from a parser that returns undefined for invalid values. */
const fromParser = <Made>(what: string, parse: (text: string) => Made | undefined): z.ZodType<Made, string> =>
  z.string().transform((text, context) => {
    const made = parse(text);
    if (made !== undefined) return made;
    context.addIssue({ code: 'custom', message: `not a valid ${what}: ${JSON.stringify(text)}` });
    return z.NEVER;
  });
export const externalRunId = fromParser('run id', parseExternalRunId);
export const stepAttemptId = fromParser('step attempt id', parseStepAttemptId);
