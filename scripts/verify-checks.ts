/** The end-to-end checks of an installation: what a newcomer is promised, asked over HTTPS of any URL. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';

export interface Installation {
  /** without a slash at its end */
  readonly url: string;
  readonly apiKey: string;
  /** part of every name and key that the checks use, so that they can be run again and again */
  readonly mark: string;
  /** how long a run may take */
  readonly patienceMs: number;
}

export interface Check {
  /** a fact about the installation */
  readonly name: string;
  ask(at: Installation): Promise<void>;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}
type Body = { readonly [key: string]: unknown };

const order = JSON.parse(readFileSync(new URL('../examples/order-total/workflow.json', import.meta.url), 'utf8')) as Body;
const workflowName = (at: Installation): string => `verify-${at.mark}`;

async function ask(
  at: Installation,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const response = await fetch(`${at.url}${path}`, {
    method,
    headers: { authorization: `Bearer ${at.apiKey}`, 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) as Body };
}

const start = (at: Installation, key: string, price: number): Promise<Answer> =>
  ask(
    at,
    'POST',
    '/v1/runs',
    { workflowName: workflowName(at), input: { items: [{ qty: 3, price }] } },
    { 'idempotency-key': `${at.mark}-${key}` },
  );

/** Asks again and again until the run has ended. */
async function ended(at: Installation, runId: unknown): Promise<Body> {
  const givenUpAt = Date.now() + at.patienceMs;
  for (;;) {
    const { status, body } = await ask(at, 'GET', `/v1/runs/${String(runId)}`);
    assert.equal(status, 200);
    if (body['status'] !== 'pending' && body['status'] !== 'running') return body;
    assert.ok(Date.now() < givenUpAt, `run ${String(runId)} is still ${String(body['status'])}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

export const checks: readonly Check[] = [
  {
    name: 'it is healthy',
    ask: async (at) => {
      const { status, body } = await ask(at, 'GET', '/v1/health');
      assert.equal(status, 200);
      assert.equal(body['healthy'], true);
    },
  },
  {
    name: 'a request without a key is refused',
    ask: async (at) => {
      const { status, body } = await ask({ ...at, apiKey: '' }, 'GET', '/v1/runs');
      assert.deepEqual([status, body['code']], [401, 'unauthorized']);
    },
  },
  {
    name: 'a workflow is published as version 1',
    ask: async (at) => {
      const { status, body } = await ask(at, 'POST', '/v1/workflows', { ...order, name: workflowName(at) });
      assert.equal(status, 201, JSON.stringify(body));
      assert.deepEqual([body['name'], body['version']], [workflowName(at), 1]);
    },
  },
  {
    name: 'a run is accepted, ends with its output, and says what became of each node',
    ask: async (at) => {
      const { status, body } = await start(at, 'first', 50);
      assert.equal(status, 202, JSON.stringify(body));
      assert.deepEqual([body['status'], body['deploymentId']], ['pending', null]);
      const run = await ended(at, body['runId']);
      assert.deepEqual([run['status'], run['output']], ['completed', { due: 135 }]);
      const nodes = run['nodes'] as readonly { nodeId: string; status: string }[];
      assert.deepEqual(
        nodes.map((node) => `${node.nodeId} ${node.status}`),
        ['start completed', 'price completed', 'big completed', 'discount completed', 'full skipped', 'end completed'],
      );
    },
  },
  {
    name: 'its events have dense ids from 1',
    ask: async (at) => {
      const { body } = await start(at, 'first', 50);
      const { body: page } = await ask(at, 'GET', `/v1/runs/${String(body['runId'])}/events`);
      const events = page['data'] as readonly { eventId: number; type: string }[];
      assert.deepEqual(
        events.map(({ eventId }) => eventId),
        events.map((_, index) => index + 1),
      );
      assert.equal(events.at(-1)?.type, 'run.completed');
    },
  },
  {
    name: 'the same request under the same key is answered with the same run',
    ask: async (at) => {
      const [one, other] = [await start(at, 'first', 50), await start(at, 'first', 50)];
      assert.equal(other.body['runId'], one.body['runId']);
      assert.equal(other.headers.get('idempotency-replayed'), 'true');
    },
  },
  {
    name: 'another body under the same key is a conflict',
    ask: async (at) => {
      const { status, body } = await start(at, 'first', 51);
      assert.deepEqual([status, body['code']], [409, 'idempotency_conflict']);
    },
  },
  {
    name: 'a start without a key for its idempotency is refused',
    ask: async (at) => {
      const { status, body } = await ask(at, 'POST', '/v1/runs', { workflowName: workflowName(at) });
      assert.deepEqual([status, body['code']], [400, 'idempotency_required']);
    },
  },
  {
    name: 'a body that does not parse is refused with the place of each fault',
    ask: async (at) => {
      const { status, body } = await ask(
        at,
        'POST',
        '/v1/runs',
        { workflowName: 7, inputs: {} },
        { 'idempotency-key': `${at.mark}-bad` },
      );
      assert.deepEqual([status, body['code']], [400, 'invalid_request']);
      const places = (body['errors'] as readonly { place: string }[]).map(({ place }) => place);
      assert.ok(places.includes('/workflowName') && places.includes('/inputs'), places.join(' '));
    },
  },
  {
    name: 'a body of 7 MB is refused as too large',
    ask: async (at) => {
      const { status, body } = await ask(
        at,
        'POST',
        '/v1/runs',
        { workflowName: 'x'.repeat(7_000_000) },
        { 'idempotency-key': `${at.mark}-big` },
      );
      assert.deepEqual([status, body['code']], [413, 'payload_too_large']);
    },
  },
  {
    name: 'a route that is not there is answered in the same form',
    ask: async (at) => {
      const { status, body } = await ask(at, 'GET', '/v1/nowhere');
      assert.deepEqual([status, body['code']], [404, 'not_found']);
      assert.equal(typeof body['correlationId'], 'string');
    },
  },
  {
    name: 'a cancelled run stays cancelled',
    ask: async (at) => {
      const { body } = await start(at, 'cancelled', 10);
      const { status, body: answer } = await ask(at, 'POST', `/v1/runs/${String(body['runId'])}/cancel`);
      // It may have ended before the cancel came: then it says as what.
      if (status === 409) return assert.equal(answer['code'], 'run_terminal');
      assert.deepEqual([status, answer['status']], [200, 'cancelled']);
      assert.equal((await ended(at, body['runId']))['status'], 'cancelled');
    },
  },
];
