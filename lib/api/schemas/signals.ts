/** Bodies about signals. */
import * as z from 'zod';
import { maxSignalTextLength } from '../../engine/signal-key.ts';
import { days } from '../../engine/time.ts';
import { json, signalId } from './parts.ts';

const signalText = z.string().min(1).max(maxSignalTextLength);
const maxExpirySeconds = days(30) / 1_000;

const signalFields = {
  name: signalText,
  payload: json.exactOptional().meta({ description: 'absent: null' }),
  signalId: signalId.exactOptional().meta({ description: 'sent again with the same one, it is the same signal' }),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(maxExpirySeconds)
    .exactOptional()
    .meta({ description: 'how long it is kept for a wait that has not begun; absent: a day' }),
};

export const sendSignalBody = z
  .strictObject({
    ...signalFields,
    correlation: signalText.meta({ description: 'which of all the things that bear the name: what the waiting node says too' }),
  })
  .meta({ id: 'SendSignal' });
export const sendRunSignalBody = z.strictObject(signalFields).meta({ id: 'SendRunSignal' });

export const sentResponse = z.strictObject({
  signalId: z.string(),
  delivered: z.boolean().meta({ description: 'false: nobody waits for it yet, and it is kept' }),
});
