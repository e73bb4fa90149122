/**
 * Every route of the World against the same four requests: a key without its scope, a key of another project, a malformed request, and the
 * same request twice. A route without a row does not compile.
 */
import { describe, expect, test } from 'vitest';
import type { ErrorCode } from '../../lib/api/errors.ts';
import type { OperationOf } from '../../lib/api/routes.ts';
import { worldRoutes } from '../../lib/api/world-routes.ts';
import { environment, firstCommit, projectId, runId as toRunId } from '../../lib/engine/ids.ts';
import { keyScopes } from '../../lib/ports/control.ts';
import { shippedCode } from './code-api.ts';
import type { Answered, CallOptions, Http } from './http.ts';

const secretBytes = { $bytes: Buffer.from('devl["what only acme knows"]').toString('base64') };

interface Setup {
  readonly api: Http;
  readonly key: string;
  readonly runId: string;
}

type Request = Pick<CallOptions, 'body' | 'headers' | 'query'> & { readonly path?: string };

interface Row {
  readonly request: (setup: Setup) => Request;
  /** what a key of another project gets: a refusal, an answer without data, or what belongs to its own project */
  readonly elsewhere: ErrorCode | 'nothing' | 'its own';
  /** what the second request gets: the same answer, a refusal, or another answer */
  readonly again: 'the same' | ErrorCode | 'another';
  /** the field whose value is replaced by one of another type; absent: the route has none */
  readonly field?: string;
}

const ofRun =
  (more: object = {}) =>
  ({ runId }: Setup) => ({ body: { runId, ...more } });
const recorded = (data: object) => ofRun({ data: { specVersion: 5, ...data } });
const reading = { elsewhere: 'run_not_found', again: 'the same' } as const;
const stepData = { stepName: 'step//./a//b', input: secretBytes };

const rows: { readonly [Id in OperationOf<'world'>]: Row } = {
  createWorldEvent: {
    request: recorded({ eventType: 'step_created', correlationId: 'step_2', eventData: stepData }),
    elsewhere: 'run_not_found',
    again: 'entity_conflict',
    field: 'data',
  },
  createWorldEventBatch: {
    request: ofRun({ events: [{ data: { eventType: 'step_created', correlationId: 'step_2', eventData: stepData } }] }),
    elsewhere: 'run_not_found',
    // Each event has a status of its own: the second time a conflict.
    again: 'another',
    field: 'events',
  },
  listWorldEvents: { ...reading, request: ofRun(), field: 'runId' },
  listWorldEventsByCorrelation: { ...reading, request: ofRun({ correlationId: 'step_1' }), field: 'correlationId' },
  getWorldEvent: { ...reading, request: ofRun({ eventId: `evnt_${'1'.padStart(26, '0')}` }), field: 'eventId' },
  listWorldRuns: { request: () => ({ body: {} }), elsewhere: 'nothing', again: 'the same', field: 'status' },
  getWorldRun: { ...reading, request: ({ runId }) => ({ path: `/v1/world/runs/${runId}` }), field: 'resolveData' },
  listWorldSteps: { ...reading, request: ofRun(), field: 'pagination' },
  getWorldStep: {
    ...reading,
    request: ({ runId }) => ({ path: '/v1/world/steps/step_1', query: { runId } }),
    field: 'resolveData',
  },
  listWorldHooks: { ...reading, request: ofRun(), field: 'pagination' },
  getWorldHook: {
    request: () => ({ path: '/v1/world/hooks/hook_1' }),
    elsewhere: 'hook_not_found',
    again: 'the same',
    field: 'resolveData',
  },
  getWorldHookByToken: {
    request: () => ({ path: '/v1/world/hooks/by-token/token-1' }),
    elsewhere: 'hook_not_found',
    again: 'the same',
    field: 'resolveData',
  },
  resumeHook: {
    request: () => ({ body: { token: 'token-1', payload: { by: 'ada' } }, headers: { 'idempotency-key': 'resume-1' } }),
    elsewhere: 'hook_not_found',
    again: 'the same',
    field: 'token',
  },
  // The client never repeats a write whose answer was lost: the same chunks twice are two flushes.
  writeWorldStream: { ...reading, request: ofRun({ name: 'strm_1', chunks: [secretBytes] }), field: 'chunks' },
  closeWorldStream: { ...reading, request: ofRun({ name: 'strm_1' }), field: 'name' },
  readWorldStreamChunks: { request: ofRun({ name: 'strm_1' }), elsewhere: 'nothing', again: 'the same', field: 'limit' },
  getWorldStreamInfo: { request: ofRun({ name: 'strm_1' }), elsewhere: 'nothing', again: 'the same', field: 'name' },
  readWorldStream: {
    request: () => ({ query: { name: 'strm_1' } }),
    elsewhere: 'nothing',
    again: 'the same',
    field: 'limit',
  },
  listWorldStreams: { request: ({ runId }) => ({ query: { runId } }), elsewhere: 'nothing', again: 'the same', field: 'other' },
  createWorldUpload: {
    request: ofRun({ sha256: 'ab'.repeat(32), bytes: 5 }),
    elsewhere: 'its own',
    again: 'the same',
    field: 'sha256',
  },
  getWorldEncryptionKey: { request: ofRun(), elsewhere: 'its own', again: 'the same', field: 'runId' },
  registerWorldApp: {
    request: () => ({ body: { baseUrl: 'https://app.example.com', app: 'shop' } }),
    elsewhere: 'its own',
    again: 'the same',
    field: 'baseUrl',
  },
  publishMessage: {
    request: ({ runId }) => ({ body: { queueName: '__wkf_workflow_w', message: { runId }, opts: { idempotencyKey: 'k' } } }),
    elsewhere: 'not_found',
    // A message id of its own, and the deduplication id of the first: the queue has one message.
    again: 'another',
    field: 'queueName',
  },
  getWorldDeploymentId: { request: () => ({}), elsewhere: 'no_active_deployment', again: 'the same', field: 'app' },
};

const acme = { projectId: projectId('acme'), environment: environment('test') };

/** A run with a step, a hook and a stream, of the project `acme`. */
async function prepared(): Promise<Setup> {
  const [api] = await shippedCode();
  const key = await api.key(['world:proxy', 'runs:write']);
  const runId: string = api.world.ids.runId(api.world.clock.now());
  const setup = { api, key, runId };
  const { body } = await api.call('POST', '/v1/world/apps', { key, body: { baseUrl: 'https://app.example.com' } });
  const record = async (eventType: string, correlationId?: string, eventData?: object): Promise<void> => {
    const sent = { runId, data: { eventType, specVersion: 5, correlationId, eventData } };
    expect((await api.call('POST', '/v1/world/events/create', { key, body: sent })).status).toBe(200);
  };
  await record('run_created', undefined, {
    deploymentId: body['deploymentId'],
    workflowName: 'workflow//./a//b',
    input: secretBytes,
  });
  await record('run_started');
  await record('step_created', 'step_1', stepData);
  await record('hook_created', 'hook_1', { token: 'token-1', metadata: secretBytes });
  const chunks = { runId, name: 'strm_1', chunks: [secretBytes] };
  expect((await api.call('POST', '/v1/world/streams/write', { key, body: chunks })).status).toBe(200);
  return setup;
}

test('a refusal of a World without errors of a schema names the wrong part', async () => {
  const { api, key } = await prepared();
  const { status, body } = await api.call('POST', '/v1/world/apps', { key, body: { baseUrl: 'ftp://app.example.com' } });
  expect([status, body]).toEqual([
    400,
    expect.objectContaining({
      code: 'invalid_request',
      errors: [expect.objectContaining({ pointer: '/baseUrl', code: 'invalid_request' })],
    }),
  ]);
});

const eventsOf = async ({ api, runId }: Setup): Promise<string> =>
  JSON.stringify(await api.world.log.commitsAfter({ ...acme, runId: toRunId(runId) }, firstCommit));

/** Without what each answer has of its own. */
const contentOf = ({ status, body, list }: Answered): unknown => {
  const { correlationId: _correlationId, ...content } = body;
  return { status, content, list };
};

describe.each(worldRoutes)('$operationId', ({ operationId, method, path, scope: own }) => {
  const row = rows[operationId];
  const call = (setup: Setup, key: string, change: Partial<CallOptions> = {}): Promise<Answered> => {
    const { path: ownPath = path, ...request } = row.request(setup);
    return setup.api.call(method, ownPath, { key, ...request, ...change });
  };

  test('is refused to a key with every other scope, and changes nothing', async () => {
    const setup = await prepared();
    const before = await eventsOf(setup);
    const others = keyScopes.filter((scope) => scope !== own && scope !== 'admin');
    const { status, body } = await call(setup, await setup.api.key(others));
    expect([status, body['code'], body['required']]).toEqual([403, 'missing_scope', own]);
    expect(await eventsOf(setup)).toBe(before);
  });

  test.each([{ project: 'rival' }, { env: 'production' }])(
    'shows and changes nothing of another project or environment: %j',
    async (of) => {
      const setup = await prepared();
      const before = await eventsOf(setup);
      const { status, body, list } = await call(setup, await setup.api.key([own], of));
      if (row.elsewhere === 'nothing' || row.elsewhere === 'its own') expect(status).toBe(200);
      else expect(body['code']).toBe(row.elsewhere);
      const shown = JSON.stringify({ body, list });
      expect(shown).not.toContain(secretBytes.$bytes);
      expect(shown).not.toContain('acme#test');
      if (row.elsewhere === 'nothing') expect(shown).not.toMatch(/wrun_|strm_|step_|hook_/);
      expect(await eventsOf(setup)).toBe(before);
    },
  );

  test('refuses a malformed request with the place of its error, and changes nothing', async () => {
    const setup = await prepared();
    const before = await eventsOf(setup);
    const { query = {}, body = {} } = row.request(setup);
    const wrong: readonly Partial<CallOptions>[] =
      method === 'GET'
        ? [{ query: { ...query, unknown: 'x' } }, { query: { ...query, [row.field ?? '']: '' } }]
        : [
            { text: '{"runId":', body: undefined },
            { body: [] },
            { body: { ...Object(body), unknown: 1 } },
            { body: { ...Object(body), [row.field ?? '']: true } },
          ];
    for (const change of wrong) {
      const answered = await call(setup, setup.key, change);
      expect([answered.status, JSON.stringify(change)]).toEqual([400, JSON.stringify(change)]);
      if (change.text === undefined) expect(answered.body['errors']).toMatchObject([{ pointer: expect.any(String) }]);
    }
    expect(await eventsOf(setup)).toBe(before);
  });

  test(`gets ${row.again === 'another' ? 'another answer' : row.again} the second time, and records nothing more`, async () => {
    const setup = await prepared();
    const first = await call(setup, setup.key);
    expect([first.status, first.body['code']]).toEqual([200, undefined]);
    const recordedOnce = await eventsOf(setup);
    const second = await call(setup, setup.key);
    if (row.again === 'the same') expect(contentOf(second)).toEqual(contentOf(first));
    else if (row.again === 'another') expect([second.status, contentOf(second)]).not.toEqual([200, contentOf(first)]);
    else expect(second.body['code']).toBe(row.again);
    expect(await eventsOf(setup)).toBe(recordedOnce);
  });
});

test('a message that is published twice with one key is one message of the queue', async () => {
  const setup = await prepared();
  const { api, key } = setup;
  for (let count = 0; count < 2; count += 1)
    expect((await api.call('POST', '/v1/queue/publish', { key, ...rows.publishMessage.request(setup) })).status).toBe(200);
  const sent = api.world.jobs.takeDevKitMessages();
  expect(sent.map(({ deduplication }) => deduplication)).toEqual(['k', 'k']);
});
