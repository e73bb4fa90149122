/** Bodies about tickets. */
import * as z from 'zod';
import { utcTimestamp } from './parts.ts';

export const ticketResponse = z
  .strictObject({
    ticket: z.string().meta({ description: 'pass it as `ticket` with the events of this run; it is in no other answer' }),
    expiresAt: utcTimestamp.meta({ description: 'until when it opens a stream; an open one goes on' }),
  })
  .meta({ id: 'Ticket' });
