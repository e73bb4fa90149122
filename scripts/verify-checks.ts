/** End-to-end checks of an installation over HTTPS: health, workflows, runs, events, idempotency and errors. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export interface Installation {
  /** without a trailing slash */
  readonly url: string;
  readonly apiKey: string;
  /** suffix of all names and keys, so that the checks can be repeated */
  readonly uniqueSuffix: string;
  /** maximum duration of a run */
  readonly runTimeoutMs: number;
}

export interface Check {
  /** a fact about the installation */
  readonly name: string;
  run(installation: Installation): Promise<void>;
}

interface HttpResult {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}
type Body = { readonly [key: string]: unknown };

const order = JSON.parse(readFileSync(new URL('../examples/order-total/workflow.json', import.meta.url), 'utf8')) as Body;
const workflowName = (installation: Installation): string => `verify-${installation.uniqueSuffix}`;

async function request(
  installation: Installation,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<HttpResult> {
  const response = await fetch(`${installation.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${installation.apiKey}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as Body };
}

const start = (installation: Installation, key: string, price: number): Promise<HttpResult> =>
  request(
    installation,
    'POST',
    '/v1/runs',
    { workflowName: workflowName(installation), input: { items: [{ qty: 3, price }] } },
    { 'idempotency-key': `${installation.uniqueSuffix}-${key}` },
  );

/** Polls until the run has ended. */
async function waitForEnd(installation: Installation, runId: unknown): Promise<Body> {
  const deadline = Date.now() + installation.runTimeoutMs;
  for (;;) {
    const { status, body } = await request(installation, 'GET', `/v1/runs/${String(runId)}`);
    assert.equal(status, 200);
    if (body['status'] !== 'pending' && body['status'] !== 'running') return body;
    assert.ok(Date.now() < deadline, `run ${String(runId)} is still ${String(body['status'])}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const checks: readonly Check[] = [
  {
    name: 'the installation is healthy',
    run: async (installation) => {
      const { status, body } = await request(installation, 'GET', '/v1/health');
      assert.equal(status, 200);
      assert.equal(body['healthy'], true);
    },
  },
  {
    name: 'a request without a key is refused',
    run: async (installation) => {
      const { status, body } = await request({ ...installation, apiKey: '' }, 'GET', '/v1/runs');
      assert.deepEqual([status, body['code']], [401, 'unauthorized']);
    },
  },
  {
    name: 'a workflow is published as version 1',
    run: async (installation) => {
      const { status, body } = await request(installation, 'POST', '/v1/workflows', {
        ...order,
        name: workflowName(installation),
      });
      assert.equal(status, 201, JSON.stringify(body));
      assert.deepEqual([body['name'], body['version']], [workflowName(installation), 1]);
    },
  },
  {
    name: 'a run is accepted, completes with its output and reports the status of each node',
    run: async (installation) => {
      const { status, body } = await start(installation, 'first', 50);
      assert.equal(status, 202, JSON.stringify(body));
      assert.deepEqual([body['status'], body['deploymentId']], ['pending', null]);
      const run = await waitForEnd(installation, body['runId']);
      assert.deepEqual([run['status'], run['output']], ['completed', { due: 135 }]);
      const nodes = run['nodes'] as readonly { nodeId: string; status: string }[];
      assert.deepEqual(
        nodes.map((node) => `${node.nodeId} ${node.status}`),
        ['start completed', 'price completed', 'big completed', 'discount completed', 'full skipped', 'end completed'],
      );
    },
  },
  {
    name: 'the events of a run have dense ids from 1',
    run: async (installation) => {
      const { body } = await start(installation, 'first', 50);
      const { body: page } = await request(installation, 'GET', `/v1/runs/${String(body['runId'])}/events`);
      const events = page['data'] as readonly { eventId: number; type: string }[];
      assert.deepEqual(
        events.map(({ eventId }) => eventId),
        events.map((_, index) => index + 1),
      );
      assert.equal(events.at(-1)?.type, 'run.completed');
    },
  },
  {
    name: 'a repeated request with the same idempotency key returns the same run',
    run: async (installation) => {
      const [first, second] = [await start(installation, 'first', 50), await start(installation, 'first', 50)];
      assert.equal(second.body['runId'], first.body['runId']);
      assert.equal(second.headers.get('idempotency-replayed'), 'true');
    },
  },
  {
    name: 'another body with the same idempotency key is a conflict',
    run: async (installation) => {
      const { status, body } = await start(installation, 'first', 51);
      assert.deepEqual([status, body['code']], [409, 'idempotency_conflict']);
    },
  },
  {
    name: 'a start without an idempotency key is refused',
    run: async (installation) => {
      const { status, body } = await request(installation, 'POST', '/v1/runs', { workflowName: workflowName(installation) });
      assert.deepEqual([status, body['code']], [400, 'idempotency_required']);
    },
  },
  {
    name: 'an invalid body is refused with a JSON pointer for each error',
    run: async (installation) => {
      const { status, body } = await request(
        installation,
        'POST',
        '/v1/runs',
        { workflowName: 7, inputs: {} },
        { 'idempotency-key': `${installation.uniqueSuffix}-bad` },
      );
      assert.deepEqual([status, body['code']], [400, 'invalid_request']);
      const pointers = (body['errors'] as readonly { pointer: string }[]).map(({ pointer }) => pointer);
      assert.ok(pointers.includes('/workflowName') && pointers.includes('/inputs'), pointers.join(' '));
    },
  },
  {
    name: 'a body of 7 MB is refused',
    run: async (installation) => {
      const { status, body } = await request(
        installation,
        'POST',
        '/v1/runs',
        { workflowName: 'x'.repeat(7_000_000) },
        { 'idempotency-key': `${installation.uniqueSuffix}-big` },
      );
      assert.deepEqual([status, body['code']], [413, 'payload_too_large']);
    },
  },
  {
    name: 'an unknown route returns an error in the same format',
    run: async (installation) => {
      const { status, body } = await request(installation, 'GET', '/v1/nowhere');
      assert.deepEqual([status, body['code']], [404, 'not_found']);
      assert.equal(typeof body['correlationId'], 'string');
    },
  },
  {
    name: 'a cancelled run stays cancelled',
    run: async (installation) => {
      const { body } = await start(installation, 'cancelled', 10);
      const { status, body: cancelResult } = await request(installation, 'POST', `/v1/runs/${String(body['runId'])}/cancel`);
      // The run may have ended before the cancel request.
      if (status === 409) return assert.equal(cancelResult['code'], 'run_terminal');
      assert.deepEqual([status, cancelResult['status']], [200, 'cancelled']);
      assert.equal((await waitForEnd(installation, body['runId']))['status'], 'cancelled');
    },
  },
];

/** Checks of the start API. They need the run of the other checks. @param startUrl without a trailing slash */
export const startApiChecks = (startUrl: string): readonly Check[] => [
  {
    name: 'the start API finds the run that the API started, by its idempotency key and by its id',
    run: async (installation) => {
      const through = { ...installation, url: startUrl };
      const { body } = await start(installation, 'first', 50);
      const repeated = await start(through, 'first', 50);
      assert.deepEqual([repeated.status, repeated.body['runId']], [202, body['runId']]);
      assert.equal(repeated.headers.get('idempotency-replayed'), 'true');
      assert.equal((await waitForEnd(through, body['runId']))['status'], 'completed');
    },
  },
  {
    name: 'the start API refuses a start without a key, in the format of the API',
    run: async (installation) => {
      const { status, body } = await start({ ...installation, url: startUrl, apiKey: '' }, 'refused', 50);
      assert.deepEqual([status, body['code']], [401, 'unauthorized']);
    },
  },
  {
    name: 'the start API has no other routes',
    run: async (installation) => {
      const { status, body } = await request({ ...installation, url: startUrl }, 'GET', '/v1/runs');
      assert.deepEqual([status, body], [404, { message: 'Not Found' }]);
    },
  },
];
