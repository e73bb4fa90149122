/** Bodies about tickets. */
import * as z from 'zod';
import { moment } from './parts.ts';

export const ticketAnswer = z
  .strictObject({
    ticket: z.string().meta({ description: 'pass it as `ticket` with the events of this run; it is in no other answer' }),
    expiresAt: moment.meta({ description: 'until when it opens a stream; an open one goes on' }),
  })
  .meta({ id: 'Ticket' });
