/** Bundle runs: the requests to the bundle, the effect of its responses, and recovery of lost messages. */
import { describe, expect, test } from 'vitest';
import {
  type DeploymentId,
  type RunAddress,
  deploymentId,
  nodeId,
  nodeKey,
  topLevel,
  workflowName,
} from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { after, days, durationMs, hours, minutes, seconds } from '../../lib/engine/time.ts';
import { type BundleResult, bundlePaths } from '../../lib/ports/bundles.ts';
import { type Manifest, defaultApp, pointerAfter } from '../../lib/ports/deployments.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { publishMessage } from '../../lib/service/kinds/bundle/publish-message.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { recheckRun } from '../../lib/service/execution/recheck-run.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { deadLetterAfterCrash } from './dead-letters.ts';
import { type BundleHandler, type TestEnv, createTestEnv, scope } from './test-env.ts';

const manifestOf = (id: string): Manifest => ({
  deploymentId: deploymentId(id),
  specVersion: 1,
  app: defaultApp,
  runtime: 'bundle',
  workflows: [{ name: 'greet' }],
  steps: [{ name: 'mail' }],
  files: Object.values(bundlePaths).map((path) => ({ path, sha256: 'cd'.repeat(32), bytes: 1 })),
  artifact: { sha256: 'ab'.repeat(32), bytes: 10 },
});

/** Creates a verified deployment and activates it. */
async function ship({ ports }: Pick<TestEnv, 'ports'>, id: string): Promise<DeploymentId> {
  const now = ports.clock.now();
  const own = deploymentId(id);
  await ports.deployments.create(scope, { manifest: manifestOf(id), createdAt: now, createdBy: null, verifiedAt: now });
  const before = await ports.deployments.pointer(scope);
  const moved = pointerAfter(before, manifestOf(id), { deploymentId: own, at: now, by: null });
  await ports.deployments.movePointer(scope, moved.revision - 1, moved);
  return own;
}

const answering = (status: number, body: JsonValue = {}): BundleResult => ({ kind: 'responded', status, body });
const completes = (output: JsonValue): BundleResult => answering(200, { run: { status: 'completed', output } });
/** One response per delivery, in order. The last one repeats. */
const inTurn = (...answers: readonly BundleResult[]): BundleHandler => {
  let given = 0;
  return () => answers[Math.min(given++, answers.length - 1)] ?? answering(200);
};

async function begun(
  code: BundleHandler = () => answering(200),
  wrap?: (deps: Deps) => Deps,
): Promise<readonly [TestEnv, RunAddress]> {
  const env = createTestEnv({ code, ...(wrap === undefined ? {} : { wrap }) });
  await ship(env, 'v1');
  return [env, await env.begin('greet')];
}

const statusOf = async (env: TestEnv, run: RunAddress) => (await env.fold(run)).state.progress.status;
const errorOf = async (env: TestEnv, run: RunAddress) => {
  const { progress } = (await env.fold(run)).state;
  return progress.status === 'failed' ? progress.error : undefined;
};

describe('a bundle run without a declared deadline', () => {
  test.each([
    ['was idle for days', 'running', days(7) - minutes(1)],
    ['worked all the time', 'failed', 0],
  ] as const)('that %s is %s when its deadline passes during a message', async (_what, status, idleMs) => {
    const [env, run] = await begun();
    const { clock } = env.ports;
    await env.settle();
    clock.advance(durationMs(idleMs));
    await publishMessage(env.worker, { run, queueName: '__wkf_step_mail', message: { workflowRunId: run.runId } });
    // The message is handled while the deadline passes.
    clock.set(after(clock.now(), durationMs(days(7) - idleMs + minutes(1))));
    await recheckRun(env.worker, { kind: 'recheck', run });
    expect(await statusOf(env, run)).toBe(status);
  });
});

describe('requests to the bundle', () => {
  test('the workflow receives the run and its input, and its response ends the run', async () => {
    const [env, run] = await begun(() => completes({ hello: 'you' }));
    await env.settle();
    expect(env.bundleRequests).toEqual([
      {
        queueName: '__wkf_workflow_greet',
        body: { runId: run.runId, input: {} },
        headers: expect.objectContaining({
          'x-vqs-queue-name': '__wkf_workflow_greet',
          'x-vqs-message-attempt': '1',
          'x-workflow-run-id': run.runId,
        }),
      },
    ]);
    const got = await getRun(env.worker, run, true);
    expect(got).toMatchObject({
      run: {
        head: { kind: 'bundle', deploymentId: 'v1', projection: { status: 'completed' } },
        output: { value: { hello: 'you' } },
        nodes: [{ node: { type: 'message' }, state: { status: 'completed' } }],
      },
    });
  });

  test('a resume sends its reason and payload in the documented headers, as ASCII', async () => {
    const [env, run] = await begun();
    await env.settle();
    expect(await resumeRun(env.worker, run, { reason: 'nachgefragt: ü', payload: { ok: '✓' } })).toEqual({
      kind: 'resumed',
      isReplay: false,
    });
    await env.settle();
    const headers = env.bundleRequests[1]?.headers ?? {};
    expect(headers['x-workflow-resume-reason']).toBe('nachgefragt: \\u00fc');
    expect(JSON.parse(headers['x-workflow-resume-payload'] ?? '')).toEqual({ ok: '✓' });
    expect(() => new Headers(headers)).not.toThrow();
  });

  test('a repeated resume with the same key is one resume, and a different one is a conflict', async () => {
    const [env, run] = await begun();
    const idempotency = { key: 'k', bodyHash: 'h' };
    expect(await resumeRun(env.worker, run, { idempotency })).toMatchObject({ isReplay: false });
    expect(await resumeRun(env.worker, run, { idempotency })).toMatchObject({ isReplay: true });
    expect(await resumeRun(env.worker, run, { idempotency: { ...idempotency, bodyHash: 'other' } })).toEqual({
      kind: 'idempotency_conflict',
    });
    await env.settle();
    expect(env.bundleRequests).toHaveLength(2);
  });

  test('a wake-up is a message to the workflow', async () => {
    const [env, run] = await begun();
    await env.settle();
    expect(await wakeRun(env.worker, run)).toMatchObject({ kind: 'woken', nodeIds: [expect.stringMatching(/^msg_w/)] });
    await env.settle();
    expect(env.bundleRequests).toHaveLength(2);
  });
});

describe('responses of the bundle', () => {
  test.each([
    ['503', answering(503, { timeoutSeconds: 3_600 }), 3_600],
    ['200', answering(200, { timeoutSeconds: 30 }), 30],
    ['200, at once', answering(200, { timeoutSeconds: 0 }), 0],
  ])('%s with timeoutSeconds sends the same content later, as a new message', async (_name, first, wait) => {
    const [env, run] = await begun(inTurn(first, completes('late')));
    const before = env.ports.clock.now();
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    expect(env.ports.clock.now() - before).toBeGreaterThanOrEqual(wait * 1_000);
    expect(env.bundleRequests.map(({ headers }) => headers['x-vqs-message-attempt'])).toEqual(['1', '1']);
    expect(env.bundleRequests[0]?.headers['x-vqs-message-id']).not.toBe(env.bundleRequests[1]?.headers['x-vqs-message-id']);
    expect(env.bundleRequests[0]?.body).toEqual(env.bundleRequests[1]?.body);
  });

  test('a run that polls continues, also if its deadline passes while a message is handled', async () => {
    const answers = inTurn(
      answering(503, { timeoutSeconds: 3_600 }),
      answering(503, { timeoutSeconds: 3_600 }),
      completes('late'),
    );
    let deliveries = 0;
    const [env, run] = await begun((...request) => {
      deliveries += 1;
      if (deliveries === 2) env.ports.clock.advance(durationMs(days(7) - minutes(30)));
      return answers(...request);
    });
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
  });

  test.each<[string, BundleResult]>([
    ['an answer of 500', answering(500)],
    ['503 without a time', answering(503)],
    ['a crash', { kind: 'crashed', message: 'exit 1' }],
    ['no answer in time', { kind: 'timed_out' }],
  ])('%s redelivers the same message, and counts the attempt', async (_name, first) => {
    const [env, run] = await begun(inTurn(first, first, completes('in the end')));
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
    expect(env.bundleRequests.map(({ headers }) => headers['x-vqs-message-attempt'])).toEqual(['1', '2', '3']);
    expect(new Set(env.bundleRequests.map(({ headers }) => headers['x-vqs-message-id'])).size).toBe(1);
  });

  test('after fifty deliveries the run fails, and its error says so', async () => {
    const [env, run] = await begun(() => answering(500));
    await env.settle();
    expect(env.bundleRequests).toHaveLength(50);
    expect(await errorOf(env, run)).toMatchObject({ code: 'delivery_failed' });
  });

  test('an artifact that cannot be loaded is tried five times', async () => {
    const [env, run] = await begun(() => ({ kind: 'unloadable', message: 'no flow.js' }));
    await env.settle();
    expect(env.bundleRequests).toHaveLength(5);
    expect(await errorOf(env, run)).toMatchObject({ code: 'artifact_unusable' });
  });

  test('a step that cannot be loaded ends only its message, and the workflow is notified', async () => {
    const [env, run] = await begun(({ queueName }) =>
      queueName === '__wkf_step_mail' ? { kind: 'unloadable', message: 'no step.js' } : answering(200),
    );
    await env.settle();
    const message = { workflowRunId: run.runId };
    const sent = await publishMessage(env.worker, { run, queueName: '__wkf_step_mail', message });
    await env.settle();
    const loads = Array.from({ length: 5 }, () => '__wkf_step_mail');
    expect(env.bundleRequests.map(({ queueName }) => queueName)).toEqual([
      '__wkf_workflow_greet',
      ...loads,
      '__wkf_workflow_greet',
    ]);
    expect(env.bundleRequests.at(-1)?.headers['x-workflow-resume-reason']).toContain(
      '__wkf_step_mail cannot be loaded: no step.js',
    );
    expect(await statusOf(env, run)).toBe('running');
    const ref = { nodeId: nodeId('messageId' in sent ? sent.messageId : ''), iteration: topLevel };
    expect((await env.fold(run)).state.nodes.get(nodeKey(ref))).toMatchObject({
      status: 'failed',
      failure: { code: 'artifact_unusable', message: 'no step.js' },
    });
  });

  test('the code can fail the run', async () => {
    const [env, run] = await begun(() => answering(200, { run: { status: 'failed', error: { message: 'no', code: 'mine' } } }));
    await env.settle();
    expect(await errorOf(env, run)).toMatchObject({ message: 'no', code: 'mine' });
  });

  test('a response after the run was cancelled changes nothing', async () => {
    let hasCancelled: unknown;
    const [env, run] = await begun(async () => {
      hasCancelled = await cancelRun(env.worker, run);
      return completes('too late');
    });
    await env.settle();
    expect(hasCancelled).toEqual({ kind: 'cancelled' });
    expect(await statusOf(env, run)).toBe('cancelled');
  });

  test('a run that is never ended fails 365 days after its start, because it may wait to be resumed', async () => {
    const [env, run] = await begun();
    await env.settle();
    env.ports.clock.advance(days(8));
    await sweepRun(env.worker, run);
    expect(await statusOf(env, run)).toBe('running');
    env.ports.clock.advance(days(357));
    await sweepRun(env.worker, run);
    expect(await errorOf(env, run)).toMatchObject({ code: 'deadline_exceeded' });
  });
});

describe('the deployment of a run', () => {
  test('a run stays on its deployment while another is activated, and a new run uses the active one', async () => {
    const seen: string[] = [];
    const [env, run] = await begun((_request, id) => {
      seen.push(id);
      return answering(200);
    });
    await env.settle();
    await ship(env, 'v2');
    await resumeRun(env.worker, run, { reason: 'go on' });
    await env.settle();
    await env.start({ workflowName: workflowName('greet'), idempotencyKey: 'new' });
    await env.settle();
    expect(seen).toEqual(['v1', 'v1', 'v2']);
  });

  test('a named deployment is used, active or not; an unknown, unverified or unsuitable one is refused', async () => {
    const [env] = await begun();
    await ship(env, 'v2');
    const start = (id: string, name = 'greet') =>
      env.start({ workflowName: workflowName(name), idempotencyKey: `${id}-${name}`, deploymentId: deploymentId(id) });
    expect(await start('v1')).toMatchObject({ kind: 'started', deploymentId: 'v1' });
    expect(await start('v9')).toEqual({ kind: 'deployment_not_found', deploymentId: 'v9' });
    expect(await start('v1', 'other')).toEqual({ kind: 'workflow_not_found' });
    await env.ports.deployments.create(scope, {
      manifest: manifestOf('raw'),
      createdAt: env.ports.clock.now(),
      createdBy: null,
    });
    expect(await start('raw')).toEqual({ kind: 'deployment_not_verified', deploymentId: 'raw' });
  });

  test('it is pinned while the run is open, and unpinned when the run has ended', async () => {
    const [env, run] = await begun(() => completes(null));
    expect(await env.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toMatchObject([{ runId: run.runId }]);
    await env.settle();
    expect(await env.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toEqual([]);
  });

  test('a removal that starts in between stops the start', async () => {
    const env = createTestEnv({
      wrap: (deps) => {
        const { deployments } = deps;
        const pin: typeof deployments.pin = async (...pinned) => {
          await deployments.pin(...pinned);
          await deployments.setRemoving(scope, deploymentId('v1'), deps.clock.now());
        };
        const wrapped = new Proxy(deployments, {
          get: (target, name) => (name === 'pin' ? pin : Reflect.get(target, name).bind(target)),
        });
        return { ...deps, deployments: wrapped };
      },
    });
    await ship(env, 'v1');
    expect(await env.start({ workflowName: workflowName('greet') })).toEqual({
      kind: 'deployment_not_found',
      deploymentId: 'v1',
    });
    expect(await env.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toEqual([]);
  });

  test('a rerun uses the same deployment, or the one that the request names', async () => {
    const [env, run] = await begun(() => completes(null));
    await ship(env, 'v2');
    const again = (key: string, id?: string) =>
      rerunRun(env.worker, {
        sourceRun: run,
        idempotencyKey: key,
        bodyHash: key,
        ...(id === undefined ? {} : { deploymentId: deploymentId(id) }),
      });
    expect(await again('a')).toMatchObject({ kind: 'started', deploymentId: 'v1' });
    expect(await again('b', 'v2')).toMatchObject({ kind: 'started', deploymentId: 'v2' });
    expect(await again('c', 'v9')).toMatchObject({ kind: 'deployment_not_found' });
  });
});

describe('published messages', () => {
  const publish = (env: TestEnv, run: RunAddress, more: object = {}) =>
    publishMessage(env.worker, { run, queueName: '__wkf_step_mail', message: { workflowRunId: run.runId }, ...more });

  test('each request sends a message, unless it repeats an idempotency key', async () => {
    const [env, run] = await begun();
    await env.settle();
    const once = { idempotency: { key: 'k', bodyHash: 'h' } };
    const plain = [await publish(env, run), await publish(env, run)];
    const keyed = [await publish(env, run, once), await publish(env, run, once)];
    expect(new Set(plain.map((answer) => 'messageId' in answer && answer.messageId)).size).toBe(2);
    expect(new Set(keyed.map((answer) => 'messageId' in answer && answer.messageId)).size).toBe(1);
    expect(keyed).toMatchObject([{ isReplay: false }, { isReplay: true }]);
    await env.settle();
    expect(env.bundleRequests.filter(({ queueName }) => queueName === '__wkf_step_mail')).toHaveLength(3);
    env.ports.clock.advance(hours(23));
    expect(await publish(env, run, once)).toMatchObject({ isReplay: true });
    expect(await publish(env, run, { idempotency: { key: 'k', bodyHash: 'other' } })).toEqual({ kind: 'idempotency_conflict' });
  });

  test('a delayed message is not delivered early', async () => {
    const [env, run] = await begun();
    await env.settle();
    await publish(env, run, { delay: minutes(10) });
    const before = env.ports.clock.now();
    await env.settle();
    expect(env.bundleRequests).toHaveLength(2);
    expect(env.ports.clock.now() - before).toBeGreaterThanOrEqual(600_000);
  });

  test.each([
    '__wkf_step_anything',
    '__wkf_step_greet',
    '__wkf_workflow_mail',
    '__wkf_workflow_Greet',
    '__mine_wkf_step_anything',
  ])('one for %s, which the manifest does not have, is refused and stores nothing', async (queueName) => {
    const [env, run] = await begun();
    await env.settle();
    const before = (await env.fold(run)).state.asOf;
    const once = { idempotency: { key: 'k', bodyHash: 'h' } };
    const queues = ['__wkf_workflow_greet', '__wkf_step_mail'];
    expect(await publish(env, run, { queueName, ...once })).toEqual({ kind: 'unknown_queue', queues });
    expect((await env.fold(run)).state.asOf).toBe(before);
    expect(await publish(env, run, { ...once, idempotency: { key: 'k', bodyHash: 'other' } })).toMatchObject({
      kind: 'published',
    });
  });

  test.each(['__mine_wkf_step_mail', '__mine_wkf_workflow_greet'])(
    'one for %s is accepted: a namespace is not part of the name',
    async (queueName) => {
      const [env, run] = await begun();
      expect(await publish(env, run, { queueName })).toMatchObject({ kind: 'published' });
    },
  );

  // DevKit's runtime always uses these names; its build gives the steps other names, or none.
  test.each(['__builtin_response_array_buffer', '__builtin_response_json', '__builtin_response_text'])(
    'one for DevKit’s built-in step %s is accepted, which no manifest names',
    async (step) => {
      const [env, run] = await begun();
      await env.settle();
      expect(await publish(env, run, { queueName: `__wkf_step_${step}` })).toMatchObject({ kind: 'published' });
      await env.settle();
      expect(env.bundleRequests.at(-1)).toMatchObject({ queueName: `__wkf_step_${step}` });
      expect(await publish(env, run, { queueName: `__wkf_workflow_${step}` })).toMatchObject({ kind: 'unknown_queue' });
    },
  );

  test('an ended run, a run of another kind, and another deployment are refused', async () => {
    const [env, run] = await begun(() => completes(null));
    expect(await publish(env, run, { deploymentId: deploymentId('v2') })).toEqual({ kind: 'deployment_mismatch' });
    await env.settle();
    expect(await publish(env, run)).toEqual({ kind: 'run_terminal' });
    expect(await publish(env, { ...run, runId: env.ports.ids.runId(env.ports.clock.now()) })).toEqual({ kind: 'not_found' });
  });
});

describe('recovery', () => {
  test('the sweep resends a message whose send was lost', async () => {
    const [env, run] = await begun(() => completes('found'));
    env.ports.jobs.takeMessages();
    env.ports.clock.advance(minutes(3));
    expect(await sweepRun(env.worker, run)).toBe(true);
    await env.settle();
    expect(await statusOf(env, run)).toBe('completed');
  });

  test('a duplicate delivery of a completed message sends no request to the bundle', async () => {
    const [env, run] = await begun();
    const [job] = env.ports.jobs.messages;
    await env.settle();
    if (job !== undefined) await env.take(job);
    expect(env.bundleRequests).toHaveLength(1);
    expect(await statusOf(env, run)).toBe('running');
  });

  test('workers that crash in every delivery for an hour fail the run, and not earlier', async () => {
    const [env, run] = await begun();
    const [job] = env.ports.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    for (let crash = 0; crash < 3; crash += 1) {
      expect(await statusOf(env, run)).toBe('pending');
      await deadLetterAfterCrash(env, job);
      env.ports.clock.advance(minutes(30));
    }
    expect(await errorOf(env, run)).toMatchObject({ code: 'recovery_error', cause: 'lost' });
    expect(await env.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toEqual([]);
  });

  test('a delivery that takes long is shown as running, and sends heartbeats', async () => {
    const [env, run] = await begun(async () => {
      for (let second = 0; second < 130; second += 1) {
        env.ports.clock.advance(seconds(1));
        await new Promise(setImmediate);
      }
      return completes(null);
    });
    await env.settle();
    const node = (await env.fold(run)).state.nodes;
    expect([...node.entries()].map(([, { status }]) => status)).toEqual(['completed']);
    expect((await env.ports.log.heartbeats(run)).length).toBeGreaterThan(0);
  });

  test('two hundred concurrent starts with one key create one run', async () => {
    const env = createTestEnv();
    await ship(env, 'v1');
    const starts = Array.from({ length: 200 }, () => env.start({ workflowName: workflowName('greet') }));
    const ids = (await Promise.all(starts)).map((answer) => ('runId' in answer ? answer.runId : answer.kind));
    expect(new Set(ids).size).toBe(1);
    await env.settle();
    expect(env.bundleRequests).toHaveLength(1);
  });
});

/** Crashes once at each port call in turn: before the call, or after it. */
const crashAt = (at: number, isAfter: boolean) => {
  let calls = 0;
  const wrapPort = <Port extends object>(port: Port): Port =>
    new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function' || name === 'now' || name === 'sleep' || name === 'nonce' || name === 'runId') {
          return typeof member === 'function' ? member.bind(target) : member;
        }
        return async (...given: readonly unknown[]) => {
          calls += 1;
          if (calls === at && !isAfter) throw new Unavailable('the world');
          const answer: unknown = await member.apply(target, given);
          if (calls === at && isAfter) throw new Unavailable('the world');
          return answer;
        };
      },
    });
  // Only sleepers advance the clock; the watcher of a delivery waits for its end.
  const acceleratedClock = (clock: Deps['clock']): Deps['clock'] => ({
    now: () => clock.now(),
    sleep: (_wait, signal) =>
      signal === undefined
        ? Promise.resolve()
        : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
  });
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    clock: acceleratedClock(deps.clock),
    log: wrapPort(deps.log),
    index: wrapPort(deps.index),
    jobs: wrapPort(deps.jobs),
    reservations: wrapPort(deps.reservations),
    deployments: wrapPort(deps.deployments),
    notices: wrapPort(deps.notices),
  });
  return { wrap, calls: () => calls };
};

describe('a start that crashes at each of its calls and is repeated with its key', () => {
  test.each([
    ['before', false],
    ['after', true],
  ])('%s the call: there is one run, and it completes', async (_name, isAfter) => {
    for (let at = 1; at < 40; at += 1) {
      const crashing = crashAt(at, isAfter);
      const env = createTestEnv({ code: () => completes('once'), wrap: crashing.wrap });
      await ship(env, 'v1');
      const start = () => env.start({ workflowName: workflowName('greet') }).catch(() => undefined);
      const answers = [await start(), await start(), await start()];
      const ids = new Set(answers.flatMap((answer) => (answer !== undefined && 'runId' in answer ? [answer.runId] : [])));
      expect(ids.size, `call ${at}`).toBe(1);
      const [runId] = ids;
      if (runId === undefined) throw new Error('no run');
      const run = { ...scope, runId };
      // The sweep recovers what the crash lost; the crashed call may be the sweep's own.
      for (let round = 0; round < 5; round += 1) {
        await env.settle().catch(() => undefined);
        env.ports.clock.advance(minutes(4));
        await sweepRun(env.worker, run).catch(() => undefined);
      }
      expect(await statusOf(env, run), `call ${at}`).toBe('completed');
      expect((await env.ports.index.list(scope, { limit: 10 })).heads, `call ${at}`).toHaveLength(1);
      const head = await env.ports.log.head(run);
      expect(head?.projection.status, `call ${at}`).toBe('completed');
    }
  });
});

test('the message id alone identifies a message', async () => {
  const [env, run] = await begun();
  const fold = await env.fold(run);
  expect([...fold.state.open.keys()]).toEqual([`msg_w${run.runId.slice(5)}`]);
  expect(fold.state.nodes.get([...fold.state.open.keys()][0] ?? Object('')) ?? undefined).toMatchObject({
    nodeId: nodeId(`msg_w${run.runId.slice(5)}`),
    iteration: topLevel,
  });
});
