/** Schemas for signals. */
import * as z from 'zod';
import { maxSignalTextLength } from '../../engine/signal-key.ts';
import { days } from '../../engine/time.ts';
import { json, signalId } from './parts.ts';

const signalText = z.string().min(1).max(maxSignalTextLength);
export const maxSignalTtlSeconds = days(30) / 1_000;

const signalFields = {
  name: signalText,
  payload: json.exactOptional().meta({ description: 'absent: null' }),
  signalId: signalId.exactOptional().meta({ description: 'repeating a request with the same id sends the signal once' }),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(maxSignalTtlSeconds)
    .exactOptional()
    .meta({ description: 'how long the signal is stored until a node waits for it; absent: one day' }),
};

export const sendSignalBody = z
  .strictObject({
    ...signalFields,
    correlation: signalText.meta({ description: 'the correlation key; it must equal the correlation of the waiting node' }),
  })
  .meta({ id: 'SendSignal' });
export const sendRunSignalBody = z.strictObject(signalFields).meta({ id: 'SendRunSignal' });

export const sentResponse = z.strictObject({
  signalId: z.string(),
  delivered: z.boolean().meta({ description: 'false: no node waits for it yet, and it is stored' }),
});
