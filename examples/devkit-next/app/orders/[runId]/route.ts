import { getRun } from 'workflow/api';

/** The status of an order, and its result once it has one. */
export async function GET(_request: Request, { params }: { params: Promise<{ runId: string }> }): Promise<Response> {
  const run = getRun((await params).runId);
  const status = await run.status;
  return Response.json({ status, result: status === 'completed' ? await run.returnValue : null });
}
