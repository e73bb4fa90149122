import { defineHandler } from 'nitro';
import { start } from 'workflow/api';
import { order } from '../../workflows/order';

/** Starts the run of an order. */
export default defineHandler(async ({ req }): Promise<Response> => {
  const item = (await req.formData()).get('item');
  if (typeof item !== 'string' || item === '') return Response.json({ error: 'the field item is missing' }, { status: 400 });
  const { runId } = await start(order, [item]);
  return Response.json({ runId }, { status: 202 });
});
