/**
 * Publishes a workflow, starts a run and waits for its result. Needs a running `npm start`:
 * `npx node examples/typed-client.ts`
 */
import { readFileSync } from 'node:fs';
import { ComputeClientError, StepwellClient } from '../lib/client/index.ts';

export async function priceOrder(client: StepwellClient, items: readonly { qty: number; price: number }[]): Promise<string> {
  const workflow = JSON.parse(readFileSync(new URL('order-total/workflow.json', import.meta.url), 'utf8'));
  try {
    await client.createWorkflow(workflow);
  } catch (error) {
    // The workflow exists from an earlier execution.
    if (!(error instanceof ComputeClientError && error.code === 'workflow_exists')) throw error;
  }

  // The idempotency key: repeated calls within a day return the same run.
  const idempotencyKey = client.contentKey('order-total', { items });
  const { runId } = await client.trigger({ workflowName: 'order-total', input: { items } }, { idempotencyKey });

  for await (const { eventId, type } of client.followRunEvents(runId)) process.stdout.write(`${eventId} ${type}\n`);

  const run = await client.result(runId, { timeoutMs: 60_000 });
  switch (run.status) {
    case 'completed':
      return `due: ${JSON.stringify(run.output)}`;
    case 'failed':
      return `failed: ${run.error?.message ?? 'without a word'}`;
    case 'cancelled':
      return `cancelled: ${run.cancelReason ?? 'without a reason'}`;
  }
}

if (import.meta.main) {
  const { url, apiKey } = JSON.parse(readFileSync('.stepwell/local.json', 'utf8'));
  const client = new StepwellClient({ baseUrl: url, apiKey });
  process.stdout.write(`${await priceOrder(client, [{ qty: 3, price: 50 }])}\n`);
}
