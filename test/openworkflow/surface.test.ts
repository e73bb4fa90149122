/** The library's API on the SDK and the client. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { StepwellClient } from '../../lib/client/index.ts';
import { OpenWorkflow, declareWorkflow, defineWorkflow, defineWorkflowSpec } from '../../lib/openworkflow/index.ts';
import { workflowMark } from '../../lib/sdk/marks.ts';
import { WorkflowTest } from '../../lib/testing/index.ts';

const ow = new OpenWorkflow({ baseUrl: 'http://127.0.0.1:1', apiKey: 'none' });

describe('a workflow', () => {
  const child = defineWorkflow({ name: 'child' }, async ({ input, step }: { input: { n: number }; step: StepApi }) =>
    step.run({ name: 'double' }, () => input.n * 2),
  );
  const spec = defineWorkflowSpec<{ n: number }, number>({ name: 'child' });

  test('runs like a workflow of the SDK: steps, retries, sleeps, children, versions and the run', async () => {
    let tries = 0;
    const parent = ow.defineWorkflow({ name: 'parent', version: 'v1' }, async ({ input, step, version, run }) => {
      const once = await step.run({ name: 'once', retryPolicy: { maximumAttempts: 3, initialInterval: '1h' } }, () => {
        tries += 1;
        if (tries < 3) throw new Error('not yet');
        return { n: 20 };
      });
      await step.sleep('rest', '3 days');
      const doubled = await step.runWorkflow(spec, { n: once.n + 1 }, { name: 'call', timeout: '1h' });
      const before = run.startedAt.getTime() === run.createdAt.getTime() && Object.isFrozen(run);
      return { input, doubled, version, name: run.workflowName, before };
    });
    const bench = new WorkflowTest({ workflows: [parent, child] });
    const run = await bench.start(parent, 'x');
    expect(await run.result()).toEqual({ input: 'x', doubled: 42, version: 'v1', name: 'parent', before: true });
    expect(tries).toBe(3);
  });

  test('a signal is matched by its name alone, and an early one is stored', async () => {
    const sender = defineWorkflow({ name: 'sender' }, async ({ step }) => {
      const sent = await step.sendSignal({ signal: 'go', data: { by: 'Ada' } });
      return JSON.stringify(sent).includes('signalId');
    });
    const waiter = defineWorkflow({ name: 'waiter' }, async ({ step }) => {
      const got = await step.waitForSignal<{ by: string }>({ signal: 'go' });
      const missed = await step.waitForSignal({ signal: 'never', timeout: '1 day' });
      return [got?.data.by, missed];
    });
    const bench = new WorkflowTest({ workflows: [sender, waiter] });
    expect(await (await bench.start(sender)).result()).toBe(true);
    expect(await (await bench.start(waiter)).result()).toEqual(['Ada', null]);
  });

  test('the runs that a signal reached are not known, and reading them throws', async () => {
    const sender = defineWorkflow({ name: 'sender' }, async ({ step }) => {
      const { workflowRunIds } = await step.sendSignal({ signal: 'go' });
      return workflowRunIds.length;
    });
    const run = await new WorkflowTest({ workflows: [sender] }).start(sender);
    await expect(run.result()).rejects.toThrow('the runs that it reaches are not known');
  });

  test('has its marker, with each way of defining it', () => {
    const implemented = new OpenWorkflow().implementWorkflow({ name: 'a' }, () => 1);
    const defined = new OpenWorkflow().defineWorkflow({ name: 'a' }, () => 1);
    for (const workflow of [implemented, defined, defined.workflow, child])
      expect(workflow).toMatchObject({ [workflowMark]: 1, spec: expect.any(Object), fn: expect.any(Function) });
    expect(declareWorkflow({ name: 'b' })).toEqual({ name: 'b' });
  });

  test('is unique by name and version, and its name must be valid on the platform', () => {
    const testBackend = new OpenWorkflow();
    testBackend.defineWorkflow({ name: 'a' }, () => 1);
    testBackend.defineWorkflow({ name: 'a', version: '2' }, () => 1);
    expect(() => testBackend.implementWorkflow({ name: 'a', version: '2' }, () => 1)).toThrow(
      'Workflow "a" (version: 2) is already registered',
    );
    expect(() => defineWorkflow({ name: 'send mails' }, () => 1)).toThrow('the name of a workflow must match');
  });

  type StepApi = Parameters<Parameters<OpenWorkflow['defineWorkflow']>[1]>[0]['step'];
});

describe('runs', () => {
  interface ReceivedRequest {
    readonly path: string;
    readonly body: unknown;
    readonly key: string | null;
  }
  const now = '2026-01-01T00:00:00.000Z';
  const ended = (facts: object) => ({
    runId: 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B',
    workflowName: 'orders',
    kind: 'code',
    workflowVersion: null,
    nodes: [],
    lastEventId: 3,
    deploymentId: 'd',
    specVersion: 1,
    createdAt: now,
    deadlineAt: now,
    ...facts,
  });

  /** A client of a service with configured responses, and the requests that it received. */
  const createService = (...answers: readonly object[]) => {
    const requests: ReceivedRequest[] = [];
    const left = [...answers];
    const client = new StepwellClient({
      baseUrl: 'http://127.0.0.1:1',
      apiKey: 'none',
      retries: 0,
      // Pauses and short timeouts end at once; long timeouts never end.
      sleep: (ms, signal) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => resolve());
          if (ms < 60_000) setImmediate(resolve);
        }),
      fetchImpl: async (url, init) => {
        const { pathname } = new URL(url);
        const { body } = init;
        requests.push({
          path: `${init.method} ${pathname}`,
          body: typeof body === 'string' ? JSON.parse(body) : undefined,
          key: new Headers(init.headers).get('idempotency-key'),
        });
        const answer = left.length > 1 ? left.shift() : left[0];
        const status = init.method === 'POST' && !pathname.endsWith('/cancel') ? 202 : 200;
        return Response.json(answer, { status });
      },
    });
    return { ow: new OpenWorkflow({ client }), requests };
  };
  const id = 'wrun_01KDVDNA0001ZPGCE7HQSG6B6B';
  const started = { runId: id, status: 'pending', deploymentId: 'd' };

  test('are started with their input, time, deadline and key', async () => {
    const { ow: testBackend, requests } = createService(started);
    const workflow = testBackend.defineWorkflow({ name: 'orders', version: 'v1' }, () => 1);
    const [availableAt, deadlineAt] = [new Date('2027-01-01T00:00:00Z'), new Date('2027-02-01T00:00:00Z')];
    const handle = await workflow.run({ n: 1, none: undefined }, { availableAt, deadlineAt, idempotencyKey: 'k' });
    expect(handle.workflowRun).toEqual({ id, workflowName: 'orders', version: 'v1' });
    const times = { availableAt: availableAt.toISOString(), deadlineAt: deadlineAt.toISOString() };
    expect(requests).toEqual([{ path: 'POST /v1/runs', key: 'k', body: { workflowName: 'orders', input: { n: 1 }, ...times } }]);
    await testBackend.runWorkflow({ name: 'orders' });
    expect(requests[1]?.body).toEqual({ workflowName: 'orders' });
  });

  test('an input that the schema refuses starts no run', async () => {
    const { ow: testBackend, requests } = createService(started);
    const schema = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => ({ issues: [{ message: 'too small' }, { message: 'too blue' }] }),
      },
    } as const;
    await expect(testBackend.runWorkflow({ name: 'orders', schema }, 1)).rejects.toThrow('too small; too blue');
    expect(requests).toEqual([]);
  });

  test.each([
    [
      { status: 'failed', error: { code: 'step_failed', cause: 'error', message: 'it is bad' } },
      /^Workflow orders failed: \{.*it is bad/,
    ],
    [{ status: 'cancelled' }, 'Workflow orders was canceled'],
  ])('that do not complete reject with the reason: %j', async (facts, message) => {
    const { ow: testBackend } = createService(started, ended(facts));
    await expect((await testBackend.runWorkflow({ name: 'orders' })).result()).rejects.toThrow(message);
  });

  test('that complete return their output; that do not end in time reject with a timeout', async () => {
    const { ow: testBackend } = createService(
      started,
      ended({ status: 'running' }),
      ended({ status: 'completed', output: { a: 1 } }),
    );
    expect(await (await testBackend.runWorkflow({ name: 'orders' })).result()).toEqual({ a: 1 });
    const slow = createService(started, ended({ status: 'running' }));
    const handle = await slow.ow.runWorkflow({ name: 'orders' });
    await expect(handle.result({ timeoutMs: 5 })).rejects.toThrow(`Timed out waiting for workflow run ${id} to finish`);
  });

  test('can be cancelled by their handle and by their id', async () => {
    const { ow: testBackend, requests } = createService(started, { runId: id, status: 'cancelled' });
    await (await testBackend.runWorkflow({ name: 'orders' })).cancel();
    await testBackend.cancelWorkflowRun(id);
    expect(requests.slice(1).map(({ path }) => path)).toEqual([`POST /v1/runs/${id}/cancel`, `POST /v1/runs/${id}/cancel`]);
  });

  test('a signal has the same correlation as in workflows, and its key', async () => {
    const { ow: testBackend, requests } = createService({ signalId: 's', delivered: true, workflowRunIds: [id] });
    const sent = await testBackend.sendSignal({ signal: 'go', data: { by: 'Ada' }, idempotencyKey: 'k' });
    expect(sent).toEqual({ signalId: 's', workflowRunIds: [id] });
    const body = { name: 'go', correlation: 'openworkflow', payload: { by: 'Ada' } };
    expect(requests).toEqual([{ path: 'POST /v1/signals', key: 'k', body }]);
  });
});

describe('what the platform does not need', () => {
  test('a backend is refused with instructions', () => {
    const options: object = { backend: {} };
    expect(() => new OpenWorkflow(options)).toThrow(/takes no backend.*stepwell\/openworkflow\/backend/s);
  });

  test('a worker starts and stops, and runs no workflow task', async () => {
    const worker = ow.newWorker({ concurrency: 3 });
    await worker.start();
    expect(await worker.tick()).toBe(0);
    await worker.stop();
  });

  test('without a URL no request is made, and the first call reports it', async () => {
    const nowhere = new OpenWorkflow({ apiKey: 'none' });
    await expect(nowhere.cancelWorkflowRun('wrun_1')).rejects.toThrow('needs both');
  });
});

describe('the address of the start API', () => {
  afterEach(() => {
    vi.unstubAllEnvs();
    vi.unstubAllGlobals();
  });

  /** Where a signal is sent. The environment has both addresses. */
  const targetOf = async (options: ConstructorParameters<typeof OpenWorkflow>[0]): Promise<readonly string[]> => {
    vi.stubEnv('STEPWELL_URL', 'https://env.example.com');
    vi.stubEnv('STEPWELL_START_URL', 'https://start.example.com');
    vi.stubEnv('STEPWELL_API_KEY', 'none');
    const sent: string[] = [];
    vi.stubGlobal('fetch', async (url: string) => {
      sent.push(new URL(url).origin);
      return Response.json({ code: 'invalid_request', message: 'x', correlationId: 'c' }, { status: 400 });
    });
    await expect(new OpenWorkflow(options).sendSignal({ signal: 'paid' })).rejects.toThrow();
    return sent;
  };

  test('comes from the environment with the URL, or from the options with it', async () => {
    expect(await targetOf({})).toEqual(['https://start.example.com']);
    expect(await targetOf({ baseUrl: 'https://a.example.com', startUrl: 'https://b.example.com' })).toEqual([
      'https://b.example.com',
    ]);
  });

  test('of the environment is not used for a URL of the options, whose key it would get', async () => {
    expect(await targetOf({ baseUrl: 'https://a.example.com', apiKey: 'other' })).toEqual(['https://a.example.com']);
  });
});
