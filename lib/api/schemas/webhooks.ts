/** Bodies about webhooks. What a sender sends is its own affair: only the answer has a form. */
import * as z from 'zod';

/** As the configuration names providers. */
export const webhookParams = z.strictObject({ provider: z.string().regex(/^[a-z0-9][a-z0-9-]{0,63}$/) });

export const webhookResponse = z.strictObject({
  accepted: z.literal(true),
  runId: z.string().exactOptional().meta({ description: 'the run that was started or resumed' }),
  signalId: z.string().exactOptional().meta({ description: 'the signal that was sent' }),
  delivered: z.boolean().exactOptional().meta({ description: 'of a signal: whether somebody waited for it; else it is kept' }),
});
