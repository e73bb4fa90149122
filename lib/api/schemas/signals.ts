/** Bodies about signals. */
import * as z from 'zod';
import { longestSignalWord } from '../../engine/signal.ts';
import { days } from '../../engine/time.ts';
import { json, signalId } from './parts.ts';

const word = z.string().min(1).max(longestSignalWord);
const longestSeconds = days(30) / 1_000;

const signalFacts = {
  name: word,
  payload: json.exactOptional().meta({ description: 'absent: null' }),
  signalId: signalId.exactOptional().meta({ description: 'sent again with the same one, it is the same signal' }),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(longestSeconds)
    .exactOptional()
    .meta({ description: 'how long it is kept for a wait that has not begun; absent: a day' }),
};

export const sendSignalBody = z
  .strictObject({
    ...signalFacts,
    correlation: word.meta({ description: 'which of all the things that bear the name: what the waiting node says too' }),
  })
  .meta({ id: 'SendSignal' });
export const sendRunSignalBody = z.strictObject(signalFacts).meta({ id: 'SendRunSignal' });

export const sentAnswer = z.strictObject({
  signalId: z.string(),
  delivered: z.boolean().meta({ description: 'false: nobody waits for it yet, and it is kept' }),
});
