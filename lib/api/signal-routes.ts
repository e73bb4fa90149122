/** The routes about signals, as entries of the table of routes. */
import type * as z from 'zod';
import type { Route } from './route.ts';
import * as runs from './schemas/runs.ts';
import * as signals from './schemas/signals.ts';

/** What a signal brings is kept in one item, and then in the log of the run that had waited for it. */
const signalLimitBytes = 65_536;

const ok = <Schema extends z.ZodType>(description: string, schema: Schema) => ({ description, schema });

export const signalRoutes = [
  {
    method: 'POST',
    path: '/v1/signals',
    operationId: 'sendSignal',
    summary: 'Sends a signal to whoever waits for it, or keeps it for who will',
    servedBy: 'api',
    scope: 'runs:write',
    body: { schema: signals.sendSignalBody, limitBytes: signalLimitBytes },
    idempotencyKey: 'optional',
    action: 'signals.send',
    responses: { 202: ok('It is kept, or a wait has it', signals.sentResponse) },
    errors: ['idempotency_conflict'],
  },
  {
    method: 'POST',
    path: '/v1/runs/{runId}/signals',
    operationId: 'sendRunSignal',
    summary: 'Sends a signal to a run by its id',
    servedBy: 'api',
    scope: 'runs:write',
    params: runs.runParams,
    invalidParamsCode: 'not_found',
    body: { schema: signals.sendRunSignalBody, limitBytes: signalLimitBytes },
    idempotencyKey: 'optional',
    action: 'signals.send',
    responses: { 202: ok('It is kept, or a wait has it', signals.sentResponse) },
    errors: ['not_found', 'run_terminal', 'idempotency_conflict'],
  },
] as const satisfies readonly Route[];
