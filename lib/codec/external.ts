/** Records of external-worker runs as they are stored. */
import * as z from 'zod';
import type { ExternalEntry, ExternalFact } from '../engine/external/entry.ts';
import { type ErrorRecord, type StepAttemptContext, externalStatuses, stepKinds } from '../engine/external/run.ts';
import type { KeyReservation, Listing, Reminder, Sending } from '../ports/external-runs.ts';
import { jsonValue } from './events.ts';
import { exactly } from './exact.ts';
import { instant, nonce, externalRunId, stepAttemptId } from './ids.ts';

const link = { namespaceId: z.string() };
const runLink = z.strictObject({ ...link, runId: z.string() });
const textOrNull = z.string().nullable();

const errorRecord = z.custom<ErrorRecord>(
  (value) => typeof value === 'object' && value !== null && 'message' in value && typeof value.message === 'string',
  'must be an object with a message',
);
const stepContext: z.ZodType<StepAttemptContext> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('sleep'), resumeAt: z.string() }),
  z.strictObject({ kind: z.literal('workflow'), timeoutAt: textOrNull }),
  z.strictObject({ kind: z.literal('signal-wait'), signal: z.string(), timeoutAt: z.string() }),
]);

type Fact<Type extends ExternalFact['type']> = Extract<ExternalFact, { type: Type }>;
const fact = <Type extends ExternalFact['type'], Shape extends z.ZodRawShape>(type: Type, shape: Shape) =>
  z.strictObject({ type: z.literal(type), ...shape });

const externalFact: z.ZodType<ExternalFact> = z.discriminatedUnion('type', [
  exactly<Fact<'created'>>()(
    fact('created', {
      workflowName: z.string(),
      version: textOrNull,
      idempotencyKey: textOrNull,
      config: jsonValue,
      context: jsonValue,
      input: jsonValue,
      parent: z.strictObject({ ...link, stepAttemptId: z.string() }).nullable(),
      deadlineAt: instant.nullable(),
      availableAt: instant,
    }),
  ),
  exactly<Fact<'claimed'>>()(fact('claimed', { workerId: z.string(), leaseUntil: instant })),
  exactly<Fact<'lease-extended'>>()(fact('lease-extended', { leaseUntil: instant })),
  exactly<Fact<'suspended'>>()(fact('suspended', { availableAt: instant })),
  exactly<Fact<'completed'>>()(fact('completed', { output: jsonValue })),
  exactly<Fact<'failed'>>()(fact('failed', { error: errorRecord })),
  exactly<Fact<'expired'>>()(fact('expired', {})),
  exactly<Fact<'rescheduled'>>()(fact('rescheduled', { error: errorRecord, availableAt: instant })),
  exactly<Fact<'cancelled'>>()(fact('cancelled', {})),
  exactly<Fact<'step-begun'>>()(
    fact('step-begun', { stepName: z.string(), kind: z.enum(stepKinds), config: jsonValue, context: stepContext.nullable() }),
  ),
  exactly<Fact<'step-completed'>>()(fact('step-completed', { stepAttemptId, output: jsonValue })),
  exactly<Fact<'step-failed'>>()(fact('step-failed', { stepAttemptId, error: errorRecord })),
  exactly<Fact<'child-linked'>>()(fact('child-linked', { stepAttemptId, child: runLink })),
  exactly<Fact<'child-ended'>>()(fact('child-ended', { stepAttemptId, child: runLink })),
  exactly<Fact<'signal-delivered'>>()(
    fact('signal-delivered', { waits: z.array(stepAttemptId).readonly(), data: jsonValue, sendId: z.string() }),
  ),
]);

/** An entry with one fact is stored without an array, as in the first format, so that older versions can read it. */
export const externalFacts: z.ZodType<ExternalEntry['facts']> = z.union([
  z.array(externalFact).min(2).readonly(),
  externalFact.transform((one) => [one]),
]);
export const storedFacts = (facts: ExternalEntry['facts']): ExternalFact | ExternalEntry['facts'] => {
  const [first] = facts;
  return first !== undefined && facts.length === 1 ? first : facts;
};

const count = z.int().min(0);

export const storedReminder = exactly<Reminder>()(
  z.strictObject({
    runId: externalRunId,
    at: instant,
    nonce,
    number: count,
    isPending: z.boolean(),
    availableAt: instant,
    endOfLife: instant,
    createdAt: instant,
    deferrals: count,
  }),
);

export const storedListing = exactly<Listing>()(
  z.strictObject({
    runId: externalRunId,
    createdAt: instant,
    workflowName: z.string(),
    version: textOrNull,
    status: z.enum(externalStatuses),
    deadlineAt: instant,
    availableAt: instant.exactOptional(),
    endedAt: instant.exactOptional(),
    error: z.strictObject({ code: z.string().exactOptional(), message: z.string() }).exactOptional(),
    parent: z.string().exactOptional(),
    asOf: count,
  }),
);

export const storedKeyReservation = exactly<KeyReservation>()(z.strictObject({ runId: externalRunId, at: instant }));

export const storedSending = exactly<Sending>()(
  z.strictObject({
    data: jsonValue,
    targets: z.array(z.strictObject({ runId: externalRunId, waits: z.array(stepAttemptId).readonly() })).readonly(),
    reached: z.array(externalRunId).readonly().exactOptional(),
  }),
);
