/** What a drive on a thread asks for, parsed: the thread runs an author's code, which may say anything. */
import * as z from 'zod';
import type { Command, Turn, TurnEntry } from '../engine/durable/turn.ts';
import type { StepRetry } from '../engine/durable/step.ts';
import type { JsonValue } from '../engine/json.ts';
import type { DriveEnd } from '../ports/programs.ts';
import { failure, jsonObject, jsonValue } from '../codec/events.ts';
import { exactly } from '../codec/exact.ts';
import { attempt, durationMs, instant } from '../codec/ids.ts';
import { answerLimits } from './answer-limits.ts';
import { faultInBody, treeLimits } from '../engine/tree.ts';

/** Of all that one turn comes to, as text. What a single value may have is judged where it is stored. */
const mostTurnCharacters = 67_108_864;
/** A turn has entries, an entry a command or a failure, and those have values. */
const turnLevels = 6;

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
const is = <Kind extends Command['kind']>() => exactly<Extract<Command, { kind: Kind }>>();

const sending = is<'signal-send'>()(z.strictObject({ kind: z.literal('signal-send'), ...signal, data: jsonValue }));

const command: z.ZodType<Command> = z.discriminatedUnion('kind', [
  is<'function'>()(z.strictObject({ kind: z.literal('function'), ...keyed, hasRollback: z.literal(true).exactOptional() })),
  is<'rollback'>()(z.strictObject({ kind: z.literal('rollback'), ...keyed })),
  sending,
  is<'sleep'>()(z.strictObject({ kind: z.literal('sleep'), key, wakeAt: instant })),
  is<'signal-wait'>()(z.strictObject({ kind: z.literal('signal-wait'), ...signal, expiresAt: instant.exactOptional() })),
  is<'workflow'>()(
    z.strictObject({
      kind: z.literal('workflow'),
      key,
      workflowName: z.string(),
      input: jsonValue,
      expiresAt: instant.exactOptional(),
    }),
  ),
]);

const ofStep = { key, attempt };
const worked = { ...ofStep, startedAt: instant, endedAt: instant, printed: z.array(z.string()).readonly().exactOptional() };
const again = { delayMs: durationMs, retryAt: instant };
const entryOf = <Kind extends TurnEntry['kind']>() => exactly<Extract<TurnEntry, { kind: Kind }>>();

const entry: z.ZodType<TurnEntry> = z.discriminatedUnion('kind', [
  entryOf<'asked'>()(z.strictObject({ kind: z.literal('asked'), command })),
  entryOf<'completed'>()(z.strictObject({ kind: z.literal('completed'), ...worked, output: jsonValue })),
  entryOf<'retried'>()(z.strictObject({ kind: z.literal('retried'), ...worked, failure, ...again })),
  entryOf<'failed'>()(z.strictObject({ kind: z.literal('failed'), ...worked, failure })),
  entryOf<'returned'>()(z.strictObject({ kind: z.literal('returned'), output: jsonValue })),
  entryOf<'threw'>()(z.strictObject({ kind: z.literal('threw'), failure, again: z.strictObject(again).exactOptional() })),
  entryOf<'rolled-back'>()(
    z.strictObject({ kind: z.literal('rolled-back'), failures: z.array(z.strictObject({ key, failure })).readonly() }),
  ),
]);

const turn = exactly<Turn>()(
  z.strictObject({
    entries: z.array(entry).readonly(),
    next: z.enum(['goes_on', 'rests', 'hands_on']),
    wakeAt: instant.exactOptional(),
    heard: z.int().min(0).exactOptional(),
  }),
);

const message = z.string().transform((text) => text.slice(0, answerLimits.message));
const running = z.array(z.strictObject(ofStep)).readonly();
const driveEnd: z.ZodType<DriveEnd> = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('over') }),
  z.strictObject({ kind: z.enum(['crashed', 'timed_out']), message, running }),
  z.strictObject({ kind: z.literal('diverged'), message, details: jsonObject }),
  z.strictObject({ kind: z.enum(['unloadable', 'unknown_workflow']), message }),
]);

/** Why it is none is said without its words: they may hold anything. */
export type Told<Value> = { readonly kind: 'told'; readonly value: Value } | { readonly kind: 'refused'; readonly why: string };

const toldAs =
  <Value>(schema: z.ZodType<Value>) =>
  (text: string): Told<Value> => {
    if (text.length > mostTurnCharacters) return { kind: 'refused', why: `is longer than ${mostTurnCharacters} characters` };
    let value: JsonValue;
    try {
      value = JSON.parse(text);
    } catch {
      return { kind: 'refused', why: 'is no JSON' };
    }
    const fault = faultInBody(value, treeLimits.levels + turnLevels);
    if (fault !== undefined) return { kind: 'refused', why: fault.message };
    const read = schema.safeParse(value);
    if (read.success) return { kind: 'told', value: read.data };
    return { kind: 'refused', why: `is wrong at /${read.error.issues[0]?.path.join('/') ?? ''}` };
  };

export const turnIn = toldAs<Turn>(turn);
export const sendingIn = toldAs(sending);
export const driveEndIn = toldAs(driveEnd);
