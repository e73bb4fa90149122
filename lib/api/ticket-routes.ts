/** The route about tickets, as an entry of the table of routes. */
import type * as z from 'zod';
import type { Route } from './route.ts';
import * as runs from './schemas/runs.ts';
import * as tickets from './schemas/tickets.ts';

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

export const ticketRoutes = [
  {
    method: 'POST',
    path: '/v1/runs/{runId}/tickets',
    operationId: 'createTicket',
    summary: 'Makes a ticket with which a browser opens the stream of one run, once and within a minute',
    servedBy: 'api',
    scope: 'runs:read',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    idempotencyKey: 'none',
    action: 'tickets.create',
    responses: { 201: ok('The ticket', tickets.ticketResponse) },
    errors: ['not_found'],
  },
] as const satisfies readonly Route[];
