/** Schemas for webhooks. The body of a provider has no schema; only the response has one. */
import * as z from 'zod';

/** The provider's name in the configuration. */
export const webhookParams = z.strictObject({ provider: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/) });

export const webhookResponse = z.strictObject({
  accepted: z.literal(true),
  runId: z.string().exactOptional().meta({ description: 'the run that was started or resumed' }),
  signalId: z.string().exactOptional().meta({ description: 'the signal that was sent' }),
  delivered: z
    .boolean()
    .exactOptional()
    .meta({ description: 'signals only: whether a node waited for it; otherwise the signal is stored' }),
});
