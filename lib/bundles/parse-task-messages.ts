/** Parses what a workflow task on a thread sends: command batches, signals and its end. The thread runs untrusted code. */
import * as z from 'zod';
import type { Command, CommandBatch, CommandBatchEntry } from '../engine/durable/command-batch.ts';
import type { StepRetry } from '../engine/durable/step.ts';
import type { JsonValue } from '../engine/json.ts';
import type { WorkflowTaskEnd } from '../ports/programs.ts';
import { failure, jsonObject, jsonValue } from '../codec/events.ts';
import { exactly } from '../codec/exact.ts';
import { attempt, durationMs, instant } from '../codec/ids.ts';
import { findBodyError, jsonLimits } from '../engine/validate-json.ts';
import { responseLimits } from './code-output.ts';

/** Limit of one message as JSON text. The limit of a single value is checked when the value is stored. */
export const maxBatchCharacters = 67_108_864;
/** Nesting levels of a batch around a value: batch, entries, entry, command or failure, details. */
const batchLevels = 6;

const retry = exactly<StepRetry>()(
  z.strictObject({
    maximumAttempts: z.number().exactOptional(),
    initialIntervalMs: durationMs.exactOptional(),
    backoffCoefficient: z.number().exactOptional(),
    maximumIntervalMs: durationMs.exactOptional(),
  }),
);

const key = z.string().min(1);
const keyed = { key, retry: retry.exactOptional() };
const signal = { key, signal: z.string(), correlation: z.string() };
const commandSchema = <Kind extends Command['kind']>() => exactly<Extract<Command, { kind: Kind }>>();

const signalSend = commandSchema<'signal-send'>()(z.strictObject({ kind: z.literal('signal-send'), ...signal, data: jsonValue }));

const command: z.ZodType<Command> = z.discriminatedUnion('kind', [
  commandSchema<'function'>()(
    z.strictObject({ kind: z.literal('function'), ...keyed, hasRollback: z.literal(true).exactOptional() }),
  ),
  commandSchema<'rollback'>()(z.strictObject({ kind: z.literal('rollback'), ...keyed })),
  signalSend,
  commandSchema<'sleep'>()(z.strictObject({ kind: z.literal('sleep'), key, wakeAt: instant })),
  commandSchema<'signal-wait'>()(
    z.strictObject({ kind: z.literal('signal-wait'), ...signal, expiresAt: instant.exactOptional() }),
  ),
  commandSchema<'workflow'>()(
    z.strictObject({
      kind: z.literal('workflow'),
      key,
      workflowName: z.string(),
      input: jsonValue,
      expiresAt: instant.exactOptional(),
    }),
  ),
]);

const stepFields = { key, attempt };
const attemptFields = {
  ...stepFields,
  startedAt: instant,
  endedAt: instant,
  printed: z.array(z.string()).readonly().exactOptional(),
};
const nextAttempt = { delayMs: durationMs, retryAt: instant };
const entrySchema = <Kind extends CommandBatchEntry['kind']>() => exactly<Extract<CommandBatchEntry, { kind: Kind }>>();

const entry: z.ZodType<CommandBatchEntry> = z.discriminatedUnion('kind', [
  entrySchema<'scheduled'>()(z.strictObject({ kind: z.literal('scheduled'), command })),
  entrySchema<'completed'>()(z.strictObject({ kind: z.literal('completed'), ...attemptFields, output: jsonValue })),
  entrySchema<'retried'>()(z.strictObject({ kind: z.literal('retried'), ...attemptFields, failure, ...nextAttempt })),
  entrySchema<'failed'>()(z.strictObject({ kind: z.literal('failed'), ...attemptFields, failure })),
  entrySchema<'returned'>()(z.strictObject({ kind: z.literal('returned'), output: jsonValue })),
  entrySchema<'threw'>()(
    z.strictObject({ kind: z.literal('threw'), failure, nextAttempt: z.strictObject(nextAttempt).exactOptional() }),
  ),
  entrySchema<'rolled-back'>()(
    z.strictObject({ kind: z.literal('rolled-back'), failures: z.array(z.strictObject({ key, failure })).readonly() }),
  ),
]);

const batch = exactly<CommandBatch>()(
  z.strictObject({
    entries: z.array(entry).readonly(),
    next: z.enum(['running', 'suspended', 'yielded']),
    wakeAt: instant.exactOptional(),
    historiesReceived: z.int().min(0).exactOptional(),
  }),
);

const message = z.string().transform((text) => text.slice(0, responseLimits.message));
const running = z.array(z.strictObject(stepFields)).readonly();
const taskEnd: z.ZodType<WorkflowTaskEnd> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('finished') }),
  z.strictObject({ kind: z.enum(['crashed', 'timed_out']), message, running }),
  z.strictObject({ kind: z.literal('nondeterministic'), message, details: jsonObject }),
  z.strictObject({ kind: z.enum(['unloadable', 'unknown_workflow']), message }),
]);

/** The reason never quotes the message, because it is untrusted. */
export type Parsed<Value> =
  | { readonly kind: 'parsed'; readonly value: Value }
  | { readonly kind: 'refused'; readonly reason: string };

const parserOf =
  <Value>(schema: z.ZodType<Value>) =>
  (text: string): Parsed<Value> => {
    if (text.length > maxBatchCharacters) return { kind: 'refused', reason: `is longer than ${maxBatchCharacters} characters` };
    let value: JsonValue;
    try {
      value = JSON.parse(text);
    } catch {
      return { kind: 'refused', reason: 'is not JSON' };
    }
    const finding = findBodyError(value, jsonLimits.levels + batchLevels);
    if (finding !== undefined) return { kind: 'refused', reason: finding.message };
    const result = schema.safeParse(value);
    if (result.success) return { kind: 'parsed', value: result.data };
    return { kind: 'refused', reason: `is invalid at /${result.error.issues[0]?.path.join('/') ?? ''}` };
  };

export const parseBatch = parserOf<CommandBatch>(batch);
export const parseSignalSend = parserOf(signalSend);
export const parseTaskEnd = parserOf(taskEnd);
