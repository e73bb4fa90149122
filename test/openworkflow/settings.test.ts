/** A backend with wrong settings reports them once and ends; one whose table is unavailable for a while waits. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import { OpenWorkflow } from 'openworkflow';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { hours, instant, seconds } from '../../lib/engine/time.ts';
import { MemoryExternalRuns } from '../../lib/memory/external-runs.ts';
import { BackendError, BackendStepwell } from '../../lib/openworkflow/backend/index.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';
import { dynamoAt } from '../contract/emulators/dynamo.ts';
import { type Answer, type Recorder, startRecorder } from '../contract/emulators/recorder.ts';
import { TestBackend } from './test-backend.ts';

const backendErrorOf = async (connecting: Promise<unknown>): Promise<BackendError> => {
  const error: unknown = await connecting.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof BackendError) return error;
  throw new Error(`no BackendError: ${String(error)}`);
};

describe('connect', () => {
  beforeEach(() => {
    for (const name of ['AWS_REGION', 'AWS_DEFAULT_REGION', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE'])
      vi.stubEnv(name, undefined);
    for (const name of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(name, '/dev/null');
    vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  });
  afterEach(() => void vi.unstubAllEnvs());

  const withKeys = (): void => {
    vi.stubEnv('AWS_ACCESS_KEY_ID', 'test');
    vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'test');
  };

  test('without a region ends at once and names the variable', async () => {
    withKeys();
    const warnings: string[] = [];
    const backendError = await backendErrorOf(
      BackendStepwell.connect({ tableName: 'runs', warn: (line) => warnings.push(line) }),
    );
    expect(backendError.code).toBe('region_missing');
    expect(backendError.message).toMatch(/^Table runs: No AWS region is set\. Set AWS_REGION.*Region is missing/);
    expect(warnings).toEqual([]);
  });

  test('with an invalid region name ends at once', async () => {
    withKeys();
    vi.stubEnv('AWS_REGION', 'eu central 1');
    expect((await backendErrorOf(BackendStepwell.connect({ tableName: 'runs' }))).code).toBe('region_invalid');
  });

  test('without credentials ends at once', async () => {
    vi.stubEnv('AWS_REGION', 'eu-central-1');
    const backendError = await backendErrorOf(BackendStepwell.connect({ tableName: 'runs' }));
    expect(backendError.code).toBe('credentials_missing');
    expect(backendError.message).toContain('AWS_ACCESS_KEY_ID');
  });

  test('times out a request without a response, and continues', async () => {
    let requests = 0;
    const silentAtFirst = createServer((request, response) => {
      request.resume();
      requests += 1;
      if (requests > 1) response.setHeader('content-type', 'application/x-amz-json-1.0').end('{}');
    });
    silentAtFirst.listen(0, '127.0.0.1');
    await once(silentAtFirst, 'listening');
    const address = silentAtFirst.address();
    if (typeof address !== 'object' || address === null) throw new Error('no port');
    withKeys();
    vi.stubEnv('AWS_REGION', 'eu-central-1');
    vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${address.port}`);
    try {
      const backend = await BackendStepwell.connect({ tableName: 'runs' });
      await backend.stop();
      expect(requests).toBe(6);
    } finally {
      silentAtFirst.closeAllConnections();
      silentAtFirst.close();
    }
  });

  test('without a response makes five attempts, warns once and ends', async () => {
    const client = dynamoAt('http://127.0.0.1:1', { maxAttempts: 1 });
    const warnings: string[] = [];
    const backendError = await backendErrorOf(
      BackendStepwell.connect({ tableName: 'runs', client, warn: (line) => warnings.push(line) }),
    );
    expect(backendError.code).toBe('unreachable');
    expect(backendError.message).toMatch(
      /^Table runs did not respond to 5 attempts in .* s .*Check AWS_REGION, AWS_ENDPOINT_URL/,
    );
    expect(warnings).toHaveLength(1);
    client.destroy();
  });

  describe('to a service that refuses', () => {
    let recorder: Recorder;
    let refuse: (target: string) => string | undefined;
    let words: string | undefined;
    const answerTo = (target: string): Answer => {
      const name = refuse(target);
      if (name === undefined) return { status: 200, body: {} };
      return { status: 400, body: { __type: `com.amazonaws.dynamodb.v20120810#${name}`, message: words ?? `no ${target}` } };
    };
    beforeEach(async () => {
      words = undefined;
      recorder = await startRecorder(({ headers }) => answerTo(String(headers['x-amz-target']).split('.')[1] ?? ''));
    });
    afterEach(() => recorder.close());
    const connecting = () =>
      BackendStepwell.connect({ tableName: 'runs', client: dynamoAt(recorder.endpoint, { maxAttempts: 1 }) });

    test.each(['Query', 'PutItem', 'GetItem', 'UpdateItem', 'DeleteItem'])('reports that %s is denied', async (action) => {
      refuse = (target) => (target === action ? 'AccessDeniedException' : undefined);
      const backendError = await backendErrorOf(connecting());
      expect(backendError.code).toBe('permission_missing');
      expect(backendError.message).toContain(`no ${action}`);
    });

    test.each([
      ['ResourceNotFoundException', 'table_not_found'],
      ['UnrecognizedClientException', 'credentials_refused'],
      ['ExpiredTokenException', 'credentials_refused'],
    ])('reports %s as %s', async (name, code) => {
      refuse = () => name;
      expect((await backendErrorOf(connecting())).code).toBe(code);
    });

    // The first operation is a query, whose key errors have other texts than those of an item.
    test.each([
      ['a table whose keys have other names', 'Query condition missed key schema element: id'],
      ['a table without a sort key', 'Query key condition not supported'],
      [
        'a table whose keys are numbers',
        'One or more parameter values were invalid: Condition parameter type does not match schema type',
      ],
      ['an item with other keys', 'The provided key element does not match the schema'],
      ['an item without a key', 'One or more parameter values were invalid: Missing the key id in the item'],
    ])('reports %s as table_keys', async (_what, said) => {
      words = said;
      refuse = () => 'ValidationException';
      expect((await backendErrorOf(connecting())).code).toBe('table_keys');
    });

    test('that allows everything connects', async () => {
      refuse = () => undefined;
      await expect(connecting()).resolves.toBeInstanceOf(BackendStepwell);
    });
  });
});

describe('a failing poll', () => {
  const failing = () => {
    const store = new MemoryExternalRuns();
    const state: { error: Error | undefined; polls: number } = { error: undefined, polls: 0 };
    const warnings: string[] = [];
    const flaky: ExternalRuns = new Proxy(store, {
      get(target, name) {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return (...args: readonly unknown[]): unknown => {
          if (name === 'reminders') state.polls += 1;
          if (state.error !== undefined) return Promise.reject(state.error);
          return Reflect.apply(method, target, args);
        };
      },
    });
    return { testBackend: new TestBackend(flaky, { warn: (line) => warnings.push(line) }), state, warnings };
  };

  /** Polls ten times a second for this long. */
  async function pollFor(testBackend: TestBackend, forSeconds: number): Promise<{ readonly thrown: readonly unknown[] }> {
    const thrown: unknown[] = [];
    for (let tick = 0; tick < forSeconds * 10; tick += 1) {
      const claims = await Promise.allSettled([testBackend.claim('a'), testBackend.claim('b')]);
      const [reason] = claims.flatMap((claim) => (claim.status === 'rejected' ? [claim.reason as unknown] : []));
      if (reason !== undefined) thrown.push(reason);
      testBackend.clock.advance(seconds(0.1));
    }
    return { thrown };
  }

  test('is retried with backoff, with one log line at the start and one with the count at the end', async () => {
    const { testBackend, state, warnings } = failing();
    state.error = new Unavailable('table runs', { cause: new Error('connect ECONNREFUSED') });
    expect(await pollFor(testBackend, 120)).toEqual({ thrown: [] });
    expect(state.polls).toBeLessThan(13);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('table runs is not available now (Error: connect ECONNREFUSED)');
    const failed = state.polls;
    state.error = undefined;
    const run = await testBackend.create();
    testBackend.clock.advance(seconds(30));
    expect((await testBackend.claim())?.id).toBe(run.id);
    await vi.waitFor(() => expect(warnings).toHaveLength(2));
    expect(warnings[1]).toMatch(new RegExp(`^The poll for runs works again\\. ${failed} polls failed in 1[0-9]{2} s\\.$`));
  });

  test('with a wrong setting throws once, and is retried silently until the setting is corrected', async () => {
    const { testBackend, state, warnings } = failing();
    const run = await testBackend.create();
    state.error = new BackendError('permission_missing', 'Table runs: no permission');
    const { thrown } = await pollFor(testBackend, 60);
    expect(thrown).toEqual([state.error]);
    expect(state.polls).toBeLessThan(13);
    state.error = undefined;
    testBackend.clock.advance(seconds(30));
    expect((await testBackend.claim())?.id).toBe(run.id);
    await vi.waitFor(() => expect(warnings).toHaveLength(1));
  });

  test('with another wrong setting throws again', async () => {
    const { testBackend, state } = failing();
    state.error = new BackendError('credentials_refused', 'expired');
    await expect(testBackend.claim()).rejects.toThrow('expired');
    testBackend.clock.advance(seconds(1));
    state.error = new BackendError('permission_missing', 'not allowed');
    await expect(testBackend.claim()).rejects.toThrow('not allowed');
  });

  test('is retried at once where the clock was set back', async () => {
    const { testBackend, state } = failing();
    state.error = new Unavailable('table runs');
    expect(await testBackend.claim()).toBeNull();
    testBackend.clock.set(instant(testBackend.clock.now() - hours(1)));
    expect(await testBackend.claim()).toBeNull();
    expect(state.polls).toBe(2);
  });

  test('does not make the published worker print more than one line', async () => {
    const { testBackend, state, warnings } = failing();
    const printed = vi.spyOn(console, 'error').mockImplementation(() => {});
    try {
      state.error = new BackendError('permission_missing', 'Table runs: no permission');
      const worker = new OpenWorkflow({ backend: testBackend.backend }).newWorker({ concurrency: 20 });
      await worker.start();
      await vi.waitFor(() => expect(printed).toHaveBeenCalled());
      for (let turn = 0; turn < 5; turn += 1) {
        testBackend.clock.advance(seconds(30));
        const before = state.polls;
        await vi.waitFor(() => expect(state.polls).toBeGreaterThan(before), { timeout: 5_000 });
      }
      await worker.stop();
      expect(printed).toHaveBeenCalledTimes(1);
      expect(printed.mock.calls[0]?.[1]).toBe(state.error);
      expect(warnings).toEqual([]);
    } finally {
      printed.mockRestore();
    }
  });
});
