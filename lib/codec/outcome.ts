/** The outcome of an attempt, as a result message carries it. */
import * as z from 'zod';
import type { Outcome } from '../engine/graph/outcome.ts';
import { failure, gate, loopSettings, payload, tokens } from './events.ts';
import { exactly } from './exact.ts';
import { durationMs, instant } from './ids.ts';

type Of<Kind extends Outcome['kind']> = Extract<Outcome, { kind: Kind }>;

const members = {
  finished: exactly<Of<'finished'>>()(
    z.strictObject({
      kind: z.literal('finished'),
      output: payload,
      handle: z.string().nullable(),
      end: z.enum(['success', 'error']).exactOptional(),
      ...tokens,
    }),
  ),
  failed: exactly<Of<'failed'>>()(
    z.strictObject({
      kind: z.literal('failed'),
      failure,
      retryAfterMs: durationMs.exactOptional(),
      gate: gate.exactOptional(),
      ...tokens,
    }),
  ),
  sleeping: exactly<Of<'sleeping'>>()(z.strictObject({ kind: z.literal('sleeping'), wakeAt: instant, output: payload })),
  expanding: exactly<Of<'expanding'>>()(z.strictObject({ kind: z.literal('expanding'), ...loopSettings, items: payload })),
  awaiting: exactly<Of<'awaiting'>>()(
    z.strictObject({
      kind: z.literal('awaiting'),
      name: z.string(),
      correlation: z.string().exactOptional(),
      expiresAt: instant.exactOptional(),
      expiryHandle: z.string().exactOptional(),
    }),
  ),
  calling: exactly<Of<'calling'>>()(
    z.strictObject({
      kind: z.literal('calling'),
      workflowName: z.string(),
      version: z.int().exactOptional(),
      input: payload,
      expiresAt: instant.exactOptional(),
      parentClosePolicy: z.enum(['cancel', 'abandon']),
      onChildCancelled: z.enum(['fail', 'cancel']),
    }),
  ),
} satisfies { [Kind in Outcome['kind']]: z.ZodType<Of<Kind>> };

export const outcome: z.ZodType<Outcome> = z.discriminatedUnion('kind', [
  members.finished,
  members.failed,
  members.sleeping,
  members.awaiting,
  members.calling,
  members.expanding,
]);
