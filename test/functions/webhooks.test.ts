/** Webhooks over HTTP: who may send, what is started, resumed or signalled, and that each delivery has one effect. */
import { describe, expect, test } from 'vitest';
import { runId as toRunId } from '../../lib/engine/ids.ts';
import { hours, minutes, seconds } from '../../lib/engine/time.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';
import { type Http, http, instantGraph, openGraph, started, textIn } from './http.ts';
import { delivery, emptyArn, hooksArn, hooksSecret } from './webhook-providers.ts';

const scope = { projectId: projectId('acme'), environment: environment('test') };
const published = async (graph: object = instantGraph()): Promise<readonly [Http, string]> => {
  const api = http();
  const key = await api.key(['admin']);
  expect((await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...graph } })).status).toBe(201);
  return [api, key];
};
const runsOf = async (api: Http, key: string): Promise<unknown> => (await api.call('GET', '/v1/runs', { key })).body['data'];
const entriesOf = (api: Http) => [...api.world.audit.entries.values()];

describe('a webhook of a provider', () => {
  test('starts a run with the body and headers as input, without the signature', async () => {
    const [api, key] = await published();
    const sent = delivery('{"ref":"refs/heads/main"}');
    const answer = await api.call('POST', '/v1/webhooks/git', sent);
    const runId = textIn(answer, 'runId');
    expect([answer.status, answer.body, answer.headers['idempotency-replayed']]).toEqual([
      202,
      { accepted: true, runId },
      undefined,
    ]);
    const { body } = await api.call('GET', `/v1/runs/${runId}`, { key, query: { resolveData: 'all' } });
    expect(body['output']).toEqual({
      given: {
        provider: 'git',
        deliveryId: 'd-1',
        receivedAt: '2026-01-01T00:00:00.000Z',
        headers: { 'content-type': 'application/json', 'user-agent': 'test', 'x-github-event': 'push' },
        body: { ref: 'refs/heads/main' },
      },
    });
  });

  test('a repeated delivery returns the same run within a day, and another body with its id is refused', async () => {
    const [api, key] = await published();
    const first = await api.call('POST', '/v1/webhooks/git', delivery('{"n":1}'));
    api.world.clock.advance(hours(23));
    const again = await api.call('POST', '/v1/webhooks/git', delivery('{"n":1}'));
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([202, first.body, 'true']);
    // The same JSON in other bytes is another body.
    const other = await api.call('POST', '/v1/webhooks/git', delivery('{"n": 1}'));
    expect([other.status, other.body['code']]).toEqual([409, 'idempotency_conflict']);
    expect(await runsOf(api, key)).toHaveLength(1);
  });

  test('is scoped to its provider, and separate from the keys of POST /v1/runs', async () => {
    const [api, key] = await published();
    const one = await api.call('POST', '/v1/webhooks/git', delivery('{}'));
    const headers = { 'Idempotency-Key': 'd-1' };
    const two = await api.call('POST', '/v1/runs', { key, headers, body: { workflowName: 'flow', input: {} } });
    expect([two.status, two.body['runId'] === one.body['runId']]).toEqual([202, false]);
  });

  test('gives its body as text where it is no JSON, or none that is safe', async () => {
    const [api, key] = await published();
    const bodies = [
      ['a=1', 'application/x-www-form-urlencoded', 'a=1'],
      ['{"a":', 'application/json', '{"a":'],
      ['{"__proto__":1}', 'application/json', '{"__proto__":1}'],
      ['{"a":"ü"}', 'application/vnd.acme+json; charset=utf-8', { a: 'ü' }],
    ] as const;
    for (const [at, [text, contentType, kept]] of bodies.entries()) {
      const answer = await api.call('POST', '/v1/webhooks/git', delivery(text, { id: `d-${at}`, contentType }));
      const { body } = await api.call('GET', `/v1/runs/${textIn(answer, 'runId')}`, { key, query: { resolveData: 'all' } });
      expect(body['output']).toMatchObject({ given: { body: kept } });
    }
  });

  test('is verified over its bytes, which the gateway hands on as text or as base64', async () => {
    const [api] = await published();
    const sent = delivery('{"a":"ü€😀"}');
    const base64 = { ...sent, text: Buffer.from(sent.text ?? '').toString('base64'), isBase64Encoded: true };
    const answers = [await api.call('POST', '/v1/webhooks/git', base64), await api.call('POST', '/v1/webhooks/git', sent)];
    expect(answers.map(({ status, body }) => [status, body['runId']])).toEqual([
      [202, answers[0]?.body['runId']],
      [202, answers[0]?.body['runId']],
    ]);
  });

  test('may have a megabyte, and no byte more', async () => {
    const [api] = await published();
    const most = delivery('x'.repeat(1_048_576), { contentType: 'text/plain' });
    expect((await api.call('POST', '/v1/webhooks/git', most)).status).toBe(202);
    const more = delivery('x'.repeat(1_048_577), { contentType: 'text/plain', id: 'd-2' });
    const answer = await api.call('POST', '/v1/webhooks/git', more);
    expect([answer.status, answer.body['code']]).toEqual([413, 'payload_too_large']);
  });

  test('is refused like a start, and accepted after the cause is corrected', async () => {
    const api = http();
    const missing = await api.call('POST', '/v1/webhooks/git', delivery('{}'));
    expect([missing.status, missing.body['code']]).toEqual([409, 'no_active_deployment']);
    const key = await api.key(['admin']);
    const args = [{ name: 'none', type: 'string', required: true }];
    await api.call('POST', '/v1/workflows', { key, body: { name: 'flow', ...instantGraph(), options: { args } } });
    const unfit = await api.call('POST', '/v1/webhooks/git', delivery('{}'));
    expect([unfit.status, unfit.body['code']]).toEqual([400, 'input_invalid']);
    await api.call('POST', '/v1/workflows/flow/versions', { key, body: instantGraph() });
    expect((await api.call('POST', '/v1/webhooks/git', delivery('{}'))).status).toBe(202);
  });
});

describe('a sender that is not the provider', () => {
  test.each(['nobody', 'toString', '__proto__', 'GIT', 'git%2f', 'a'.repeat(200)])('%s is unknown', async (name) => {
    const { status, body } = await http().call('POST', `/v1/webhooks/${name}`, delivery('{}'));
    expect([status, body['code']]).toEqual([404, 'unknown_provider']);
  });

  test('is refused without a reason, starts nothing, and is recorded in the project’s audit trail', async () => {
    const [api, key] = await published();
    const before = entriesOf(api).length;
    for (const options of [delivery('{}', { secret: 'another' }), { text: '{}' }, { key, text: '{}' }]) {
      const { status, body } = await api.call('POST', '/v1/webhooks/git', options);
      expect([status, body['code'], body['errors']]).toEqual([401, 'invalid_signature', undefined]);
    }
    expect(await runsOf(api, key)).toEqual([]);
    const recorded = entriesOf(api).slice(before);
    expect(recorded.map(({ action, scope: of, metadata }) => [action, of, metadata['why']])).toEqual([
      ['auth.failure', scope, 'mismatch'],
      ['auth.failure', scope, 'incomplete'],
      ['auth.failure', scope, 'incomplete'],
    ]);
  });

  test('cannot buy a write for each forgery, nor a look-up of the secret', async () => {
    const [api] = await published();
    let looked = 0;
    const value = api.secrets.value.bind(api.secrets);
    api.secrets.value = (arn) => ((looked += 1), value(arn));
    const before = entriesOf(api).length;
    for (let at = 0; at < 100; at += 1) await api.call('POST', '/v1/webhooks/git', delivery('{}', { secret: `guess ${at}` }));
    expect([entriesOf(api).length - before, looked]).toEqual([60, 1]);
    await api.call('POST', '/v1/webhooks/nobody', delivery('{}'));
    expect(entriesOf(api).length - before).toBe(60);
  });

  test('cannot send in the clear', async () => {
    const { status, body } = await http().call('POST', '/v1/webhooks/git', {
      ...delivery('{}'),
      headers: { ...delivery('{}').headers, 'X-Forwarded-Proto': 'http' },
    });
    expect([status, body['code']]).toEqual([400, 'https_required']);
  });
});

describe('the secret of a provider', () => {
  test('a changed secret is used within 30 seconds, and the old one is then invalid', async () => {
    const [api] = await published();
    const send = async (id: string, secret: string) =>
      (await api.call('POST', '/v1/webhooks/git', delivery('{}', { id, secret }))).status;
    expect(await send('d-1', hooksSecret)).toBe(202);
    await api.secrets.setValue(hooksArn, 'the next secret');
    expect(await send('d-2', 'the next secret')).toBe(401);
    api.world.clock.advance(seconds(30));
    expect(await send('d-3', 'the next secret')).toBe(202);
    expect(await send('d-4', hooksSecret)).toBe(401);
  });

  test('a removed secret works for at most five minutes', async () => {
    const [api] = await published();
    expect((await api.call('POST', '/v1/webhooks/git', delivery('{}'))).status).toBe(202);
    await api.secrets.setValue(hooksArn, 'the next secret');
    api.world.clock.advance(minutes(5));
    expect((await api.call('POST', '/v1/webhooks/git', delivery('{}', { id: 'd-2' }))).status).toBe(401);
  });

  test('may be two while the sender changes it', async () => {
    const [api] = await published();
    await api.secrets.setValue(hooksArn, JSON.stringify(['the next secret', hooksSecret]));
    const statuses = await Promise.all(
      ['the next secret', hooksSecret].map(async (secret, at) => {
        return (await api.call('POST', '/v1/webhooks/git', delivery('{}', { id: `d-${at}`, secret }))).status;
      }),
    );
    expect(statuses).toEqual([202, 202]);
  });

  test('without a value refuses every delivery as temporary', async () => {
    const api = http();
    for (const secret of ['', 'any']) {
      const { status, body } = await api.call('POST', '/v1/webhooks/empty', delivery('{}', { secret }));
      expect([status, body['code']]).toEqual([503, 'unavailable']);
    }
    await api.secrets.setValue(emptyArn, '[""]');
    expect((await api.call('POST', '/v1/webhooks/empty', delivery('{}', { secret: '' }))).status).toBe(503);
  });
});

describe('a webhook that resumes', () => {
  test('resumes the run that its body names, once for each delivery', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: openGraph });
    const sent = delivery(JSON.stringify({ job: { runId }, done: true }));
    const [one, two] = [await api.call('POST', '/v1/webhooks/jobs', sent), await api.call('POST', '/v1/webhooks/jobs', sent)];
    expect([one.status, one.body, one.headers['idempotency-replayed']]).toEqual([202, { accepted: true, runId }, undefined]);
    expect([two.status, two.body, two.headers['idempotency-replayed']]).toEqual([202, { accepted: true, runId }, 'true']);
    const commits = await api.world.log.commitsAfter({ ...scope, runId: toRunId(runId) }, await firstOf(api, runId));
    const resumed = commits.flatMap(({ events }) => events).filter(({ type }) => type === 'RUN_RESUMED');
    expect(resumed).toMatchObject([{ reason: 'webhook jobs', payload: { value: { deliveryId: 'd-1', body: { done: true } } } }]);
  });

  test.each([
    ['{}', 400, 'invalid_request'],
    ['{"job":{"runId":"no"}}', 400, 'invalid_request'],
    ['{"job":{"runId":"wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV"}}', 404, 'not_found'],
  ])('a body that names no run is refused: %s', async (body, status, code) => {
    const answer = await http().call('POST', '/v1/webhooks/jobs', delivery(body));
    expect([answer.status, answer.body['code']]).toEqual([status, code]);
  });

  test('a run that has ended, and more than a run is told, are refused', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const ended = await started(api, key);
    const over = await api.call('POST', '/v1/webhooks/jobs', delivery(JSON.stringify({ job: { runId: ended } })));
    expect([over.status, over.body['code']]).toEqual([409, 'run_terminal']);
    const much = JSON.stringify({ job: { runId: ended }, much: 'x'.repeat(65_536) });
    const large = await api.call('POST', '/v1/webhooks/jobs', delivery(much, { id: 'd-2' }));
    expect([large.status, large.body['code']]).toEqual([413, 'payload_too_large']);
  });

  test('a run of another project is as unknown', async () => {
    const api = http();
    const theirs = await started(api, await api.key(['admin'], { project: 'rival' }), { graph: openGraph });
    const answer = await api.call('POST', '/v1/webhooks/jobs', delivery(JSON.stringify({ job: { runId: theirs } })));
    expect([answer.status, answer.body['code']]).toEqual([404, 'not_found']);
  });
});

describe('a webhook that is a signal', () => {
  const waiting = (correlation: string): object => ({
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'wait', type: 'signal', config: { name: 'paid', correlation } },
      { id: 'end', type: 'end', config: { outputParameters: [{ name: 'got', sourceVariable: '{{ctx.signal}}' }] } },
    ],
    edges: [
      { source: 'start', target: 'wait' },
      { source: 'wait', target: 'end' },
    ],
  });
  const paid = (id: unknown, of = 'd-1') => delivery(JSON.stringify({ order: { id } }), { id: of });

  test('continues the waiting run once for each delivery', async () => {
    const api = http();
    const key = await api.key(['admin']);
    const runId = await started(api, key, { graph: waiting('order-7') });
    const one = await api.call('POST', '/v1/webhooks/paid', paid('order-7'));
    expect([one.status, one.body]).toEqual([202, { accepted: true, signalId: expect.stringMatching(/^sig_/), delivered: true }]);
    const again = await api.call('POST', '/v1/webhooks/paid', paid('order-7'));
    expect([again.status, again.body, again.headers['idempotency-replayed']]).toEqual([202, one.body, 'true']);
    const { body } = await api.call('GET', `/v1/runs/${runId}`, { key, query: { resolveData: 'all' } });
    expect(body).toMatchObject({
      status: 'completed',
      nodes: [{}, { output: { payload: { provider: 'paid', deliveryId: 'd-1', body: { order: { id: 'order-7' } } } } }, {}],
    });
  });

  test('is stored until a run waits for it, and a numeric correlation equals its text', async () => {
    const api = http();
    const key = await api.key(['admin']);
    expect((await api.call('POST', '/v1/webhooks/paid', paid(8))).body).toMatchObject({ delivered: false });
    const runId = await started(api, key, { graph: waiting('8') });
    expect((await api.call('GET', `/v1/runs/${runId}`, { key })).body['status']).toBe('completed');
  });

  test('sent again within a day is the same, and with another body it is refused', async () => {
    const api = http();
    const first = await api.call('POST', '/v1/webhooks/paid', paid('a'));
    api.world.clock.advance(hours(23));
    expect((await api.call('POST', '/v1/webhooks/paid', paid('a'))).body).toEqual(first.body);
    const other = await api.call('POST', '/v1/webhooks/paid', paid('b'));
    expect([other.status, other.body['code']]).toEqual([409, 'idempotency_conflict']);
  });

  test.each([[undefined], [''], [{}], [0.5], [true], ['x'.repeat(257)]])('that is about %j is refused', async (id) => {
    const { status, body } = await http().call('POST', '/v1/webhooks/paid', paid(id));
    expect([status, body['code'], body['errors']]).toMatchObject([
      400,
      'invalid_request',
      [{ pointer: '/order/id', code: 'no_correlation' }],
    ]);
  });

  test('affects no run of another project', async () => {
    const api = http();
    const key = await api.key(['admin'], { project: 'rival' });
    const runId = await started(api, key, { graph: waiting('order-7') });
    expect((await api.call('POST', '/v1/webhooks/paid', paid('order-7'))).body).toMatchObject({ delivered: false });
    expect((await api.call('GET', `/v1/runs/${runId}`, { key })).body).toMatchObject({ nodes: [{}, { status: 'waiting' }, {}] });
  });
});

const firstOf = async (api: Http, runId: string) => {
  const head = await api.world.log.head({ ...scope, runId: toRunId(runId) });
  if (head === undefined) throw new Error('no run');
  return head.commit.number;
};

test('the audit trail has the delivery, the run, and whether it was a repetition', async () => {
  const [api] = await published();
  const before = entriesOf(api).length;
  const { body } = await api.call('POST', '/v1/webhooks/git', delivery('{}'));
  await api.call('POST', '/v1/webhooks/git', delivery('{}'));
  const taken = { action: 'webhooks.ingress', keyId: null, scope, resource: 'webhook/git', result: 'success' };
  const facts = { deliveryId: 'd-1', runId: body['runId'], status: 202 };
  expect(entriesOf(api).slice(before)).toMatchObject([
    { ...taken, metadata: { ...facts, deduped: false } },
    { ...taken, metadata: { ...facts, deduped: true } },
  ]);
});
