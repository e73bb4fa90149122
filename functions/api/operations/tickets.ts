/** The route about tickets. */
import { randomBytes } from 'node:crypto';
import { newTicket } from '../../../lib/api/auth/ticket-format.ts';
import { iso } from '../../../lib/engine/time.ts';
import { invariant } from '../../../lib/engine/invariant.ts';
import { issueTicket, ticketDigest } from '../../../lib/service/watching/open-with-ticket.ts';
import { type Operations, refuse } from '../operation.ts';
import type { Tools } from '../tools.ts';

export const ticketOperations = ({ decider: { deps } }: Tools): Pick<Operations<'api'>, 'createTicket'> => ({
  createTicket: async ({ scope, params, caller }) => {
    invariant(caller !== undefined, 'a ticket is made for a key');
    const ticket = newTicket(randomBytes);
    const audit = { resource: `run/${params.runId}`, facts: { runId: params.runId } };
    const expiresAt = await issueTicket(deps, { ...scope, ...params }, caller, ticketDigest(ticket));
    if (expiresAt === undefined) return { ...refuse('not_found'), audit };
    return { status: 201, body: { ticket, expiresAt: iso(expiresAt) }, audit };
  },
});
