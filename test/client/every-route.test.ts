/** The client has a method for every route, and retries only what is safe to retry. Both are checked against the route table. */
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import type { StepwellClient } from '../../lib/client/index.ts';
import { type ClientMutation, type ClientOperation, allRoutes, answerOf, calls, sampleOf } from './every-call.ts';
import { networkError, json, createTestClient, errorResponse, noResponse } from './test-client.ts';

/** Whether a mutation is idempotent, with the reason. A new mutation does not compile until it is listed here. */
const isIdempotent: Readonly<Record<ClientMutation, boolean>> = {
  // The idempotency key makes it idempotent.
  startRun: true,
  startRunBatch: true,
  rerunRun: true,
  // Repeating it leaves the same state.
  archiveWorkflow: true,
  archiveQuery: true,
  archiveLens: true,
  cancelRun: true,
  createDeployment: true,
  activateDeployment: true,
  deactivateDeployment: true,
  verifyDeployment: true,
  revokeKey: true,
  createSchedule: true,
  updateSchedule: true,
  pauseSchedule: true,
  resumeSchedule: true,
  // Repeating it finds another state, or creates a second resource.
  createWorkflow: false,
  publishVersion: false,
  createTicket: false,
  createSessionLink: false,
  createEmbed: false,
  revokeEmbed: false,
  createQuery: false,
  publishQueryVersion: false,
  createLens: false,
  publishLens: false,
  resumeRun: false,
  wakeRun: false,
  sendSignal: false,
  sendRunSignal: false,
  resumeHook: false,
  testWorkflow: false,
  rollbackDeployment: false,
  removeDeployment: false,
  stopTestRun: false,
  publishMessage: false,
  createKey: false,
  rotateKey: false,
  deleteSchedule: false,
  deleteDraft: false,
  // The name may belong to another workflow by then.
  deleteWorkflow: false,
};
const safe = new Map<ClientOperation, boolean>(Object.entries(isIdempotent).map(([id, is]) => [routeId(id), is]));

function routeId(id: string): ClientOperation {
  const found = allRoutes.find(({ operationId }) => operationId === id);
  if (found === undefined) throw new Error(`there is no route ${id}`);
  return found.operationId;
}

const connectionError = (code: string) => () =>
  Promise.reject(new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) }));

test('every route has a client call, and every call has a route', () => {
  expect(Object.keys(calls).toSorted()).toEqual(allRoutes.map(({ operationId }) => operationId).toSorted());
});

describe.each(allRoutes.map((route) => [route.operationId, route] as const))('%s', (id, route) => {
  const { status, schema } = answerOf(route);
  const successResponse = json(status, sampleOf(schema));

  test('sends the declared request and returns the response', async () => {
    const { client, sent, runToEnd } = createTestClient([successResponse]);
    expect(await runToEnd(calls[id](client))).toEqual(sampleOf(schema));
    const [request] = sent;
    const pattern = route.path.replaceAll(/\{\w+\}/g, '[^/]+').replaceAll('.', String.raw`\.`);
    expect(request?.method).toBe(route.method);
    expect(request?.path).toMatch(new RegExp(`^${pattern}$`));
    expect(request?.headers.has('idempotency-key')).toBe(route.idempotencyKey === 'required');
  });

  test.each([
    ['429', errorResponse(429, 'rate_limited')],
    ['a refused connection', connectionError('ECONNREFUSED')],
    ['an unknown host', connectionError('ENOTFOUND')],
  ])('is retried after %s, because it was not processed', async (_what, failure) => {
    const { client, sent, runToEnd } = createTestClient([failure, successResponse]);
    await runToEnd(calls[id](client));
    expect(sent).toHaveLength(2);
  });

  const isRetried = safe.get(id) ?? route.action === undefined;
  test.each([
    ['500', errorResponse(500, 'internal')],
    ['503', errorResponse(503, 'unavailable')],
    ['a reset connection', connectionError('ECONNRESET')],
    ['an unknown network error', networkError],
    ['a time-out', noResponse],
  ])(`after %s, when it may have been processed, is retried: ${isRetried}`, async (_what, failure) => {
    const { client, sent, runToEnd, expectError } = createTestClient([failure, successResponse]);
    if (isRetried) await runToEnd(calls[id](client));
    else await expectError(calls[id](client));
    expect(sent).toHaveLength(isRetried ? 2 : 1);
    expect(new Set(sent.map(({ headers }) => headers.get('idempotency-key'))).size).toBe(1);
  });
});

const runId = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
interface Keyed {
  readonly id: ClientOperation;
  readonly call: (client: StepwellClient) => Promise<unknown>;
  readonly keyOf: (sent: { readonly headers: Headers; readonly body: unknown }) => string | null;
}
const messageBody = z.object({ opts: z.object({ idempotencyKey: z.string() }) });
const workflowBody = z.object({ signalId: z.string() });
const mutationsWithKey: readonly Keyed[] = [
  {
    id: 'resumeRun',
    call: (client) => client.resumeRun({ runId }, { idempotencyKey: 'mine' }),
    keyOf: ({ headers }) => headers.get('idempotency-key'),
  },
  {
    id: 'resumeHook',
    call: (client) => client.resumeHook({ token: 'approve:tea' }, { idempotencyKey: 'mine' }),
    keyOf: ({ headers }) => headers.get('idempotency-key'),
  },
  {
    id: 'sendSignal',
    call: (client) => client.sendSignal({ name: 'paid', correlation: 'order-1' }, { idempotencyKey: 'mine' }),
    keyOf: ({ headers }) => headers.get('idempotency-key'),
  },
  {
    id: 'sendRunSignal',
    call: (client) => client.sendRunSignal(runId, { name: 'paid', signalId: 'mine' }),
    keyOf: ({ body }) => workflowBody.parse(body).signalId,
  },
  {
    id: 'publishMessage',
    call: (client) => client.publish('__wkf_step_send', { workflowRunId: runId }, { idempotencyKey: 'mine' }),
    keyOf: ({ body }) => messageBody.parse(body).opts.idempotencyKey,
  },
];
test.each(mutationsWithKey)(
  '$id with an idempotency key is retried with the same key after every error',
  async ({ id, call, keyOf }) => {
    const route = allRoutes.find(({ operationId }) => operationId === id);
    if (route === undefined) throw new Error(`there is no route ${id}`);
    const { status, schema } = answerOf(route);
    const { client, sent, runToEnd } = createTestClient([
      networkError,
      errorResponse(503, 'unavailable'),
      json(status, sampleOf(schema)),
    ]);
    await runToEnd(call(client));
    expect(sent.map(keyOf)).toEqual(['mine', 'mine', 'mine']);
  },
);

test('an invalid key is not sent with a resume', async () => {
  const { client, sent, expectError } = createTestClient([networkError]);
  expect(await expectError(client.resumeRun({ runId }, { idempotencyKey: ' x' }))).toBeInstanceOf(TypeError);
  expect(sent).toHaveLength(0);
});
