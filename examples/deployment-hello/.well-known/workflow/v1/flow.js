/**
 * The bundle that takes the messages of workflows. A run's first message names the run; this answer ends it.
 * @param {Request} request
 */
export async function POST(request) {
  const { runId } = await request.json();
  return Response.json({ run: { status: 'completed', output: { greeting: 'Hello from a deployment', runId } } });
}
