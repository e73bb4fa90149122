import { defineHandler } from 'nitro';
import { getRouterParam } from 'nitro/h3';
import { getRun } from 'workflow/api';

/** The status of an order, and its result once it has one. */
export default defineHandler(async (event): Promise<Response> => {
  const run = getRun(getRouterParam(event, 'run') ?? '');
  const status = await run.status;
  return Response.json({ status, result: status === 'completed' ? await run.returnValue : null });
});
