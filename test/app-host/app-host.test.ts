/** The responses of an application: refused queue callbacks, and diagnostics. */
import { describe, expect, test } from 'vitest';
import { type AppHostOptions, appHost, diagnosticsPath, memoryHits } from '../../lib/app-host/index.ts';
import { ownershipReport, statusOf } from '../../lib/app-host/report.ts';

const minute = 60_000;
const flow = '/.well-known/workflow/v1/flow';
const step = '/.well-known/workflow/v1/step';
const remote = { WORKFLOW_EXECUTION_MODE: 'remote', WORKFLOW_TARGET_WORLD: 'workflow-studio/world-remote' };
const token = 'a-token-of-32-characters-or-more';
const production = { ...remote, NODE_ENV: 'production', WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN: token };

const host = (env: Record<string, string> = remote, options: Partial<AppHostOptions> = {}) => {
  const time = { now: Date.UTC(2026, 0, 1) };
  const made = appHost({
    env,
    now: () => time.now,
    sleep: (_ms, signal) => new Promise((end) => signal.addEventListener('abort', () => end())),
    ...options,
  });
  const ask = (path: string, init: RequestInit = {}) => made.handle(new Request(`https://app.example.com${path}`, init));
  return {
    ...made,
    time,
    ask,
    diagnose: async (headers: Record<string, string> = {}) => {
      const answer = await ask(diagnosticsPath, { headers });
      return ownershipReport.parse(await answer?.json());
    },
  };
};

const hit = {
  method: 'POST',
  headers: { 'content-type': 'application/json', 'x-vqs-signature': 'abc' },
  body: JSON.stringify({ runId: 'wrun_1' }),
} as const;

describe('in remote mode', () => {
  test.each([flow, step, `${flow}/`])('POST %s is refused with 409, and counts as a hit', async (path) => {
    const { ask, diagnose, time } = host();
    const answer = await ask(path, hit);
    expect(answer?.status).toBe(409);
    expect(await answer?.json()).toMatchObject({ code: 'remote_mode_active' });
    expect(await diagnose()).toEqual({
      remoteModeEnabled: true,
      strictMode: false,
      targetWorld: 'workflow-studio/world-remote',
      expectedTargetWorld: 'workflow-studio/world-remote',
      status: 'warn',
      lifetimeUnexpectedHits: 1,
      unexpectedHitsLast15m: 1,
      lastUnexpectedHitAt: new Date(time.now).toISOString(),
      lastEvent: {
        at: new Date(time.now).toISOString(),
        path: path.replace(/\/$/, ''),
        markerHeaders: ['x-vqs-signature'],
        bodyShapeMatched: true,
      },
    });
  });

  // Each condition of the rule is necessary.
  test.each([
    ['another method', flow, { ...hit, method: 'PUT' }, undefined, 0],
    ['another path', '/.well-known/workflow/v1/webhook/abc', hit, undefined, 0],
    ['a path below', `${flow}/more`, hit, undefined, 0],
    ['another type', flow, { ...hit, headers: { ...hit.headers, 'content-type': 'text/plain' } }, 409, 0],
    ['no type', flow, { method: 'POST', headers: { 'x-vqs-signature': 'abc' } }, 409, 0],
    ['no marker', flow, { ...hit, headers: { 'content-type': 'application/json' } }, 409, 0],
    [
      'a header that is no marker',
      flow,
      { ...hit, headers: { 'content-type': 'application/json', 'x-vqs-other': 'abc' } },
      409,
      0,
    ],
    [
      'a type with a parameter',
      flow,
      { ...hit, headers: { ...hit.headers, 'content-type': 'Application/JSON; charset=utf-8' } },
      409,
      1,
    ],
    [
      'a type that ends in +json',
      flow,
      { ...hit, headers: { ...hit.headers, 'content-type': 'application/vnd.example+json' } },
      409,
      1,
    ],
    ...['x-vqs-signature', 'x-vqs-delivery-id', 'x-workflow-queue-provider', 'X-Workflow-Message-Id'].map(
      (name) => [name, flow, { ...hit, headers: { 'content-type': 'application/json', [name]: '' } }, 409, 1] as const,
    ),
  ] as const)('%s: handled and counted by the rule', async (_what, path, init, status, hits) => {
    const { ask, diagnose } = host();
    expect((await ask(path, init))?.status).toBe(status);
    expect((await diagnose()).lifetimeUnexpectedHits).toBe(hits);
  });

  // The callbacks of each world's queue, from its published package.
  const json = { 'content-type': 'application/json' };
  test.each([
    ['local and Postgres, the queue', { ...json, 'x-vqs-queue-name': '__wkf_workflow_greet' }, ['x-vqs-queue-name']],
    ['local and Postgres, the message', { ...json, 'x-vqs-message-id': 'msg_1' }, ['x-vqs-message-id']],
    ['local and Postgres, the attempt', { ...json, 'x-vqs-message-attempt': '1' }, ['x-vqs-message-attempt']],
    [
      'Vercel, binary CloudEvent of JSON',
      {
        ...json,
        'ce-type': 'com.vercel.queue.v2beta',
        'ce-vqsqueuename': 'q',
        'ce-vqsconsumergroup': 'g',
        'ce-vqsmessageid': 'm',
      },
      ['ce-vqsqueuename', 'ce-vqsconsumergroup', 'ce-vqsmessageid'],
    ],
    [
      'Vercel, binary CloudEvent of CBOR',
      { 'content-type': 'application/cbor', 'ce-type': 'com.vercel.queue.v2beta', 'ce-vqsmessageid': 'm' },
      ['ce-vqsmessageid'],
    ],
    ['Vercel, structured CloudEvent', { 'content-type': 'application/cloudevents+json; charset=utf-8' }, ['content-type']],
  ])('the callback of %s counts as a hit', async (_whose, headers, markers) => {
    const { ask, diagnose } = host(production);
    expect((await ask(flow, { method: 'POST', headers, body: '{}' }))?.status).toBe(409);
    const { status, lastEvent } = await diagnose({ authorization: `Bearer ${token}` });
    expect({ status, markers: lastEvent?.markerHeaders }).toEqual({ status: 'fail', markers });
  });

  test.each([
    [JSON.stringify({ workflowRunId: 'wrun_1' }), true],
    [JSON.stringify({ runId: 7 }), false],
    [JSON.stringify({ deep: { runId: 'wrun_1' } }), false],
    ['"runId"', false],
    ['not json', false],
    ['', false],
    [JSON.stringify({ runId: 'wrun_1', padding: 'x'.repeat(70_000) }), false],
  ])('the body %.40s counts as a hit with bodyShapeMatched %s', async (body, bodyShapeMatched) => {
    const { ask, diagnose } = host();
    expect((await ask(flow, { ...hit, body }))?.status).toBe(409);
    expect(await diagnose()).toMatchObject({ lifetimeUnexpectedHits: 1, lastEvent: { bodyShapeMatched } });
  });

  test('a body that does not arrive is waited for at most two seconds', async () => {
    const { ask, diagnose } = host(remote, { sleep: () => Promise.resolve() });
    const body = new ReadableStream({ start: () => undefined });
    const init = { ...hit, body, duplex: 'half' as const };
    expect((await ask(flow, init))?.status).toBe(409);
    expect(await diagnose()).toMatchObject({ lifetimeUnexpectedHits: 1, lastEvent: { bodyShapeMatched: false } });
  });

  test('a request whose body was already read counts as a hit', async () => {
    const { handle, diagnose } = host();
    const request = new Request(`https://app.example.com${flow}`, hit);
    await request.text();
    expect((await handle(request))?.status).toBe(409);
    expect((await diagnose()).lifetimeUnexpectedHits).toBe(1);
  });

  test('a failing store changes no response, and its error is reported', async () => {
    const told: unknown[] = [];
    const error = new Error('no table');
    const hits = { record: () => Promise.reject(error), counts: () => Promise.reject(error) };
    const { ask } = host(remote, { hits, onError: (each) => told.push(each) });
    expect((await ask(flow, hit))?.status).toBe(409);
    expect((await ask(diagnosticsPath))?.status).toBe(503);
    expect(told).toEqual([error, error]);
  });

  test('processes that share a store report the same counts', async () => {
    const hits = memoryHits();
    const [one, other] = [host(remote, { hits }), host(remote, { hits })];
    await one.ask(flow, hit);
    expect((await other.diagnose()).unexpectedHitsLast15m).toBe(1);
  });

  test('fifteen minutes after the last hit only the lifetime count remains', async () => {
    const { ask, diagnose, time } = host(production);
    const headers = { authorization: `Bearer ${token}` };
    await ask(flow, hit);
    time.now += 15 * minute - 1;
    expect(await diagnose(headers)).toMatchObject({ status: 'fail', unexpectedHitsLast15m: 1 });
    time.now += 1_001;
    expect(await diagnose(headers)).toMatchObject({ status: 'warn', unexpectedHitsLast15m: 0, lifetimeUnexpectedHits: 1 });
  });
});

describe('in local mode', () => {
  test.each([flow, step])('POST %s belongs to the application, with an unread body and without a hit', async (path) => {
    const { handle, diagnose, matches } = host({});
    const request = new Request(`https://app.example.com${path}`, hit);
    expect(matches('POST', path)).toBe(false);
    expect(await handle(request)).toBeUndefined();
    expect(await request.json()).toEqual({ runId: 'wrun_1' });
    expect(await diagnose()).toMatchObject({
      remoteModeEnabled: false,
      status: 'pass',
      lifetimeUnexpectedHits: 0,
      targetWorld: null,
    });
  });
  test('a mode option takes precedence over the environment’s', () => {
    expect(host({}, { executionMode: 'remote' }).matches('POST', flow)).toBe(true);
    expect(host(remote, { executionMode: 'local' }).matches('POST', flow)).toBe(false);
  });
});

describe('the status', () => {
  const world = 'w';
  test.each([
    // remote, production, the world matches, recent, lifetime
    [true, true, true, 0, 0, 'pass'],
    [true, true, true, 0, 1, 'warn'],
    [true, true, true, 1, 1, 'fail'],
    [true, true, false, 0, 0, 'fail'],
    [true, false, true, 0, 0, 'pass'],
    [true, false, true, 0, 1, 'warn'],
    [true, false, true, 1, 1, 'warn'],
    [true, false, false, 0, 0, 'warn'],
    [false, true, true, 0, 0, 'pass'],
    [false, true, false, 0, 0, 'pass'],
    [false, true, false, 0, 1, 'warn'],
    [false, true, false, 1, 1, 'warn'],
    [false, false, false, 0, 0, 'pass'],
  ] as const)(
    'remote %s, production %s, right world %s, %d recent, %d ever: %s',
    (isRemote, isProduction, isRight, recent, lifetime, status) => {
      const facts = { isRemote, isProduction, targetWorld: isRight ? world : null, expectedTargetWorld: world };
      expect(statusOf(facts, { recent, lifetime })).toBe(status);
    },
  );
});

describe('the diagnostics', () => {
  const statusWith = async (env: Record<string, string>, authorization?: string, method = 'GET') => {
    const headers = authorization === undefined ? {} : { authorization };
    return (await host(env).ask(diagnosticsPath, { method, headers }))?.status;
  };
  const { WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN: _token, ...tokenless } = production;

  test('need their token in production, and return 404 without a configured one', async () => {
    expect(await statusWith(production, `Bearer ${token}`)).toBe(200);
    expect(await statusWith(production, `bearer  ${token}`)).toBe(200);
    expect(await statusWith(tokenless)).toBe(404);
    expect(await statusWith(tokenless, 'Bearer ')).toBe(404);
    expect(await statusWith({ ...production, WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN: '' }, 'Bearer ')).toBe(404);
  });
  test.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    token,
    `Basic ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(1)}`,
    `Bearer x ${token}`,
  ])('are refused to %j', async (authorization) => {
    expect(await statusWith(production, authorization)).toBe(401);
  });
  test('are open outside production, unless a token is set', async () => {
    expect(await statusWith(remote)).toBe(200);
    expect(await statusWith({ ...remote, WORKFLOW_STUDIO_DIAGNOSTICS_TOKEN: token })).toBe(401);
  });
  test('accept only GET, and are not cached', async () => {
    expect(await statusWith(remote, undefined, 'POST')).toBe(405);
    const answer = await host().ask(`${diagnosticsPath}/?x=1`);
    expect(Object.fromEntries(answer?.headers ?? [])).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
    });
  });
  test('report whether the guard is strict', async () => {
    const headers = { authorization: `Bearer ${token}` };
    expect(await host(production).diagnose(headers)).toMatchObject({ strictMode: true, status: 'pass' });
    const wrong = { ...production, WORKFLOW_TARGET_WORLD: 'local' };
    expect(await host(wrong).diagnose(headers)).toMatchObject({ targetWorld: 'local', status: 'fail' });
  });
});

test('every other page belongs to the application', async () => {
  for (const path of ['/', '/api/workflow-studio/diagnostics', '/.well-known/workflow/v1/webhook/abc'])
    expect(await host().ask(path)).toBeUndefined();
});
