/** Runs of a deployment's code: what it is given, what its answers do, and that nothing of it is lost. */
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
import { days, hours, minutes, seconds } from '../../lib/engine/time.ts';
import { type BundleResult, bundlePaths } from '../../lib/ports/bundles.ts';
import type { Manifest } from '../../lib/ports/deployments.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { cancelRun } from '../../lib/service/runs/cancel-run.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { getRun } from '../../lib/service/runs/get-run.ts';
import { publishMessage } from '../../lib/service/runs/publish-message.ts';
import { sweepRun } from '../../lib/service/execution/sweep-runs.ts';
import { rerunRun } from '../../lib/service/runs/rerun-run.ts';
import { resumeRun } from '../../lib/service/runs/resume-run.ts';
import { wakeRun } from '../../lib/service/runs/wake-run.ts';
import { deadLetterAfterCrash } from './dead-letters.ts';
import { type BundleHandler, type TestEnv, createTestEnv, scope } from './test-env.ts';

const manifestOf = (id: string): Manifest => ({
  deploymentId: deploymentId(id),
  specVersion: 1,
  runtime: 'bundle',
  workflows: [{ name: 'greet' }],
  steps: [{ name: 'mail' }],
  files: Object.values(bundlePaths).map((path) => ({ path, sha256: 'cd'.repeat(32), bytes: 1 })),
  artifact: { sha256: 'ab'.repeat(32), bytes: 10 },
});

/** A verified deployment, made the active one. */
async function ship({ ports }: Pick<TestEnv, 'ports'>, id: string): Promise<DeploymentId> {
  const now = ports.clock.now();
  const own = deploymentId(id);
  await ports.deployments.create(scope, { manifest: manifestOf(id), createdAt: now, createdBy: null, verifiedAt: now });
  const before = await ports.deployments.pointer(scope);
  const history = [{ deploymentId: own, at: now, by: null }, ...(before?.history ?? [])];
  const revision = (before?.revision ?? 0) + 1;
  await ports.deployments.movePointer(scope, revision - 1, { revision, history });
  return own;
}

const answering = (status: number, body: JsonValue = {}): BundleResult => ({ kind: 'responded', status, body });
const completes = (output: JsonValue): BundleResult => answering(200, { run: { status: 'completed', output } });
/** The first answer to the first delivery, and so on; the last one stays. */
const inTurn = (...answers: readonly BundleResult[]): BundleHandler => {
  let given = 0;
  return () => answers[Math.min(given++, answers.length - 1)] ?? answering(200);
};

async function begun(
  code: BundleHandler = () => answering(200),
  wrap?: (deps: Deps) => Deps,
): Promise<readonly [TestEnv, RunAddress]> {
  const home = createTestEnv({ code, ...(wrap === undefined ? {} : { wrap }) });
  await ship(home, 'v1');
  return [home, await home.begin('greet')];
}

const statusOf = async (home: TestEnv, run: RunAddress) => (await home.fold(run)).state.progress.status;
const errorOf = async (home: TestEnv, run: RunAddress) => {
  const { progress } = (await home.fold(run)).state;
  return progress.status === 'failed' ? progress.error : undefined;
};

describe('what the code is given', () => {
  test('its workflow gets the run and its input, and says how the run ends', async () => {
    const [home, run] = await begun(() => completes({ hello: 'you' }));
    await home.settle();
    expect(home.bundleRequests).toEqual([
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
    const got = await getRun(home.worker, run, true);
    expect(got).toMatchObject({
      run: {
        head: { kind: 'bundle', deploymentId: 'v1', projection: { status: 'completed' } },
        output: { value: { hello: 'you' } },
        nodes: [{ node: { type: 'message' }, state: { status: 'completed' } }],
      },
    });
  });

  test('a resumption brings its reason and payload under the documented names, as ASCII', async () => {
    const [home, run] = await begun();
    await home.settle();
    expect(await resumeRun(home.worker, run, { reason: 'nachgefragt: ü', payload: { ok: '✓' } })).toEqual({
      kind: 'resumed',
      isReplay: false,
    });
    await home.settle();
    const headers = home.bundleRequests[1]?.headers ?? {};
    expect(headers['x-workflow-resume-reason']).toBe('nachgefragt: \\u00fc');
    expect(JSON.parse(headers['x-workflow-resume-payload'] ?? '')).toEqual({ ok: '✓' });
    expect(() => new Headers(headers)).not.toThrow();
  });

  test('the same resumption with the same key is one, and another under it is refused', async () => {
    const [home, run] = await begun();
    const idempotency = { key: 'k', bodyHash: 'h' };
    expect(await resumeRun(home.worker, run, { idempotency })).toMatchObject({ isReplay: false });
    expect(await resumeRun(home.worker, run, { idempotency })).toMatchObject({ isReplay: true });
    expect(await resumeRun(home.worker, run, { idempotency: { ...idempotency, bodyHash: 'other' } })).toEqual({
      kind: 'idempotency_conflict',
    });
    await home.settle();
    expect(home.bundleRequests).toHaveLength(2);
  });

  test('a wake is a message to its workflow', async () => {
    const [home, run] = await begun();
    await home.settle();
    expect(await wakeRun(home.worker, run)).toMatchObject({ kind: 'woken', nodeIds: [expect.stringMatching(/^msg_w/)] });
    await home.settle();
    expect(home.bundleRequests).toHaveLength(2);
  });
});

describe('what its answers do', () => {
  test.each([
    ['503', answering(503, { timeoutSeconds: 3_600 }), 3_600],
    ['200', answering(200, { timeoutSeconds: 30 }), 30],
    ['200, at once', answering(200, { timeoutSeconds: 0 }), 0],
  ])('%s with timeoutSeconds: the same again then, as a fresh message', async (_name, first, wait) => {
    const [home, run] = await begun(inTurn(first, completes('late')));
    const before = home.ports.clock.now();
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    expect(home.ports.clock.now() - before).toBeGreaterThanOrEqual(wait * 1_000);
    expect(home.bundleRequests.map(({ headers }) => headers['x-vqs-message-attempt'])).toEqual(['1', '1']);
    expect(home.bundleRequests[0]?.headers['x-vqs-message-id']).not.toBe(home.bundleRequests[1]?.headers['x-vqs-message-id']);
    expect(home.bundleRequests[0]?.body).toEqual(home.bundleRequests[1]?.body);
  });

  test.each<[string, BundleResult]>([
    ['an answer of 500', answering(500)],
    ['503 without a time', answering(503)],
    ['a crash', { kind: 'crashed', message: 'exit 1' }],
    ['no answer in time', { kind: 'timed_out' }],
  ])('%s is tried again, the same message, and counted', async (_name, first) => {
    const [home, run] = await begun(inTurn(first, first, completes('in the end')));
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
    expect(home.bundleRequests.map(({ headers }) => headers['x-vqs-message-attempt'])).toEqual(['1', '2', '3']);
    expect(new Set(home.bundleRequests.map(({ headers }) => headers['x-vqs-message-id'])).size).toBe(1);
  });

  test('after fifty deliveries the run fails, and says so', async () => {
    const [home, run] = await begun(() => answering(500));
    await home.settle();
    expect(home.bundleRequests).toHaveLength(50);
    expect(await errorOf(home, run)).toMatchObject({ code: 'delivery_failed' });
  });

  test('an artifact that cannot be loaded is tried five times', async () => {
    const [home, run] = await begun(() => ({ kind: 'unloadable', message: 'no flow.js' }));
    await home.settle();
    expect(home.bundleRequests).toHaveLength(5);
    expect(await errorOf(home, run)).toMatchObject({ code: 'artifact_unusable' });
  });

  test('a step that cannot be loaded ends its message alone, and the workflow is given word of it', async () => {
    const [home, run] = await begun(({ queueName }) =>
      queueName === '__wkf_step_mail' ? { kind: 'unloadable', message: 'no step.js' } : answering(200),
    );
    await home.settle();
    const message = { workflowRunId: run.runId };
    const sent = await publishMessage(home.worker, { run, queueName: '__wkf_step_mail', message });
    await home.settle();
    const loads = Array.from({ length: 5 }, () => '__wkf_step_mail');
    expect(home.bundleRequests.map(({ queueName }) => queueName)).toEqual([
      '__wkf_workflow_greet',
      ...loads,
      '__wkf_workflow_greet',
    ]);
    expect(home.bundleRequests.at(-1)?.headers['x-workflow-resume-reason']).toContain(
      '__wkf_step_mail cannot be loaded: no step.js',
    );
    expect(await statusOf(home, run)).toBe('running');
    const ref = { nodeId: nodeId('messageId' in sent ? sent.messageId : ''), iteration: topLevel };
    expect((await home.fold(run)).state.nodes.get(nodeKey(ref))).toMatchObject({
      status: 'failed',
      failure: { code: 'artifact_unusable', message: 'no step.js' },
    });
  });

  test('the code may say that the run failed', async () => {
    const [home, run] = await begun(() => answering(200, { run: { status: 'failed', error: { message: 'no', code: 'mine' } } }));
    await home.settle();
    expect(await errorOf(home, run)).toMatchObject({ message: 'no', code: 'mine' });
  });

  test('an answer that comes after the run was cancelled changes nothing', async () => {
    let hasCancelled: unknown;
    const [home, run] = await begun(async () => {
      hasCancelled = await cancelRun(home.worker, run);
      return completes('too late');
    });
    await home.settle();
    expect(hasCancelled).toEqual({ kind: 'cancelled' });
    expect(await statusOf(home, run)).toBe('cancelled');
  });

  test('a run that is never ended fails at its deadline', async () => {
    const [home, run] = await begun();
    await home.settle();
    home.ports.clock.advance(days(8));
    await sweepRun(home.worker, run);
    expect(await errorOf(home, run)).toMatchObject({ code: 'deadline_exceeded' });
  });
});

describe('which deployment', () => {
  test('a run stays on its own while another is activated, and a new one goes to that', async () => {
    const seen: string[] = [];
    const [home, run] = await begun((_request, id) => {
      seen.push(id);
      return answering(200);
    });
    await home.settle();
    await ship(home, 'v2');
    await resumeRun(home.worker, run, { reason: 'go on' });
    await home.settle();
    await home.start({ workflowName: workflowName('greet'), idempotencyKey: 'new' });
    await home.settle();
    expect(seen).toEqual(['v1', 'v1', 'v2']);
  });

  test('a named one is taken, active or not; one that is unknown, lacks the workflow or is not verified is refused', async () => {
    const [home] = await begun();
    await ship(home, 'v2');
    const start = (id: string, name = 'greet') =>
      home.start({ workflowName: workflowName(name), idempotencyKey: `${id}-${name}`, deploymentId: deploymentId(id) });
    expect(await start('v1')).toMatchObject({ kind: 'started', deploymentId: 'v1' });
    expect(await start('v9')).toEqual({ kind: 'deployment_not_found', deploymentId: 'v9' });
    expect(await start('v1', 'other')).toEqual({ kind: 'workflow_not_found' });
    await home.ports.deployments.create(scope, {
      manifest: manifestOf('raw'),
      createdAt: home.ports.clock.now(),
      createdBy: null,
    });
    expect(await start('raw')).toEqual({ kind: 'deployment_not_verified', deploymentId: 'raw' });
  });

  test('it is held while the run is open, and let go when it has ended', async () => {
    const [home, run] = await begun(() => completes(null));
    expect(await home.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toMatchObject([{ runId: run.runId }]);
    await home.settle();
    expect(await home.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toEqual([]);
  });

  test('a removal that began in between stops the start', async () => {
    const home = createTestEnv({
      wrap: (deps) => {
        const { deployments } = deps;
        const holdOpen: typeof deployments.pin = async (...hold) => {
          await deployments.pin(...hold);
          await deployments.setRemoving(scope, deploymentId('v1'), deps.clock.now());
        };
        const wrapped = new Proxy(deployments, {
          get: (target, name) => (name === 'pin' ? holdOpen : Reflect.get(target, name).bind(target)),
        });
        return { ...deps, deployments: wrapped };
      },
    });
    await ship(home, 'v1');
    expect(await home.start({ workflowName: workflowName('greet') })).toEqual({
      kind: 'deployment_not_found',
      deploymentId: 'v1',
    });
    expect(await home.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toEqual([]);
  });

  test('a rerun takes the same one, or another that is asked for', async () => {
    const [home, run] = await begun(() => completes(null));
    await ship(home, 'v2');
    const again = (key: string, id?: string) =>
      rerunRun(home.worker, {
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

describe('messages from outside', () => {
  const publish = (home: TestEnv, run: RunAddress, more: object = {}) =>
    publishMessage(home.worker, { run, queueName: '__wkf_step_mail', message: { workflowRunId: run.runId }, ...more });

  test('each call sends, unless the caller gives it a key', async () => {
    const [home, run] = await begun();
    await home.settle();
    const once = { idempotency: { key: 'k', bodyHash: 'h' } };
    const plain = [await publish(home, run), await publish(home, run)];
    const keyed = [await publish(home, run, once), await publish(home, run, once)];
    expect(new Set(plain.map((answer) => 'messageId' in answer && answer.messageId)).size).toBe(2);
    expect(new Set(keyed.map((answer) => 'messageId' in answer && answer.messageId)).size).toBe(1);
    expect(keyed).toMatchObject([{ isReplay: false }, { isReplay: true }]);
    await home.settle();
    expect(home.bundleRequests.filter(({ queueName }) => queueName === '__wkf_step_mail')).toHaveLength(3);
    home.ports.clock.advance(hours(23));
    expect(await publish(home, run, once)).toMatchObject({ isReplay: true });
    expect(await publish(home, run, { idempotency: { key: 'k', bodyHash: 'other' } })).toEqual({ kind: 'idempotency_conflict' });
  });

  test('a delayed one comes no earlier', async () => {
    const [home, run] = await begun();
    await home.settle();
    await publish(home, run, { delay: minutes(10) });
    const before = home.ports.clock.now();
    await home.settle();
    expect(home.bundleRequests).toHaveLength(2);
    expect(home.ports.clock.now() - before).toBeGreaterThanOrEqual(600_000);
  });

  test.each([
    '__wkf_step_anything',
    '__wkf_step_greet',
    '__wkf_workflow_mail',
    '__wkf_workflow_Greet',
    '__mine_wkf_step_anything',
  ])('one for %s, which the manifest does not have, is refused and leaves nothing', async (queueName) => {
    const [home, run] = await begun();
    await home.settle();
    const before = (await home.fold(run)).state.asOf;
    const once = { idempotency: { key: 'k', bodyHash: 'h' } };
    const queues = ['__wkf_workflow_greet', '__wkf_step_mail'];
    expect(await publish(home, run, { queueName, ...once })).toEqual({ kind: 'unknown_queue', queues });
    expect((await home.fold(run)).state.asOf).toBe(before);
    expect(await publish(home, run, { ...once, idempotency: { key: 'k', bodyHash: 'other' } })).toMatchObject({
      kind: 'published',
    });
  });

  test.each(['__mine_wkf_step_mail', '__mine_wkf_workflow_greet'])(
    'one for %s is taken: a namespace is not part of the name',
    async (queueName) => {
      const [home, run] = await begun();
      expect(await publish(home, run, { queueName })).toMatchObject({ kind: 'published' });
    },
  );

  // DevKit's runtime asks for them by these names, whatever the workflow's author wrote; its build gives them others, or none.
  test.each(['__builtin_response_array_buffer', '__builtin_response_json', '__builtin_response_text'])(
    'one for DevKit’s own step %s is taken, which no manifest needs to name',
    async (step) => {
      const [home, run] = await begun();
      await home.settle();
      expect(await publish(home, run, { queueName: `__wkf_step_${step}` })).toMatchObject({ kind: 'published' });
      await home.settle();
      expect(home.bundleRequests.at(-1)).toMatchObject({ queueName: `__wkf_step_${step}` });
      expect(await publish(home, run, { queueName: `__wkf_workflow_${step}` })).toMatchObject({ kind: 'unknown_queue' });
    },
  );

  test('an ended run, a run that is none of these, and another deployment are refused', async () => {
    const [home, run] = await begun(() => completes(null));
    expect(await publish(home, run, { deploymentId: deploymentId('v2') })).toEqual({ kind: 'deployment_mismatch' });
    await home.settle();
    expect(await publish(home, run)).toEqual({ kind: 'run_terminal' });
    expect(await publish(home, { ...run, runId: home.ports.ids.runId(home.ports.clock.now()) })).toEqual({ kind: 'not_found' });
  });
});

describe('nothing is lost', () => {
  test('a message whose send died is sent again by the sweep', async () => {
    const [home, run] = await begun(() => completes('found'));
    home.ports.jobs.takeMessages();
    home.ports.clock.advance(minutes(3));
    expect(await sweepRun(home.worker, run)).toBe(true);
    await home.settle();
    expect(await statusOf(home, run)).toBe('completed');
  });

  test('a duplicate delivery of a message that is done asks the code nothing', async () => {
    const [home, run] = await begun();
    const [job] = home.ports.jobs.messages;
    await home.settle();
    if (job !== undefined) await home.take(job);
    expect(home.bundleRequests).toHaveLength(1);
    expect(await statusOf(home, run)).toBe('running');
  });

  test('workers that die in every delivery for an hour fail the run, and not before', async () => {
    const [home, run] = await begun();
    const [job] = home.ports.jobs.takeMessages();
    if (job === undefined) throw new Error('nothing was sent');
    for (let death = 0; death < 3; death += 1) {
      expect(await statusOf(home, run)).toBe('pending');
      await deadLetterAfterCrash(home, job);
      home.ports.clock.advance(minutes(30));
    }
    expect(await errorOf(home, run)).toMatchObject({ code: 'recovery_error', cause: 'lost' });
    expect(await home.ports.deployments.pinnedRuns(scope, deploymentId('v1'), 5)).toEqual([]);
  });

  test('a delivery that takes long is shown as running, and beats', async () => {
    const [home, run] = await begun(async () => {
      for (let second = 0; second < 130; second += 1) {
        home.ports.clock.advance(seconds(1));
        await new Promise(setImmediate);
      }
      return completes(null);
    });
    await home.settle();
    const node = (await home.fold(run)).state.nodes;
    expect([...node.entries()].map(([, { status }]) => status)).toEqual(['completed']);
    expect((await home.ports.log.heartbeats(run)).length).toBeGreaterThan(0);
  });

  test('two hundred starts at once with one key make one run', async () => {
    const home = createTestEnv();
    await ship(home, 'v1');
    const starts = Array.from({ length: 200 }, () => home.start({ workflowName: workflowName('greet') }));
    const ids = (await Promise.all(starts)).map((answer) => ('runId' in answer ? answer.runId : answer.kind));
    expect(new Set(ids).size).toBe(1);
    await home.settle();
    expect(home.bundleRequests).toHaveLength(1);
  });
});

/** Every call of every port, from the first on, dies once; `after` it was carried out, or before. */
const dyingAt = (at: number, isAfter: boolean) => {
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
  // Nobody moves the clock but those who wait; who watches a delivery waits for its end.
  const hurried = (clock: Deps['clock']): Deps['clock'] => ({
    now: () => clock.now(),
    sleep: (_wait, signal) =>
      signal === undefined
        ? Promise.resolve()
        : new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true })),
  });
  const wrap = (deps: Deps): Deps => ({
    ...deps,
    clock: hurried(deps.clock),
    log: wrapPort(deps.log),
    index: wrapPort(deps.index),
    jobs: wrapPort(deps.jobs),
    reservations: wrapPort(deps.reservations),
    deployments: wrapPort(deps.deployments),
    notices: wrapPort(deps.notices),
  });
  return { wrap, calls: () => calls };
};

describe('a start that dies at each of its calls and is repeated with its key', () => {
  test.each([
    ['before', false],
    ['after', true],
  ])('%s it was carried out: one run, and it comes to its end', async (_name, isAfter) => {
    for (let at = 1; at < 40; at += 1) {
      const dying = dyingAt(at, isAfter);
      const home = createTestEnv({ code: () => completes('once'), wrap: dying.wrap });
      await ship(home, 'v1');
      const start = () => home.start({ workflowName: workflowName('greet') }).catch(() => undefined);
      const answers = [await start(), await start(), await start()];
      const ids = new Set(answers.flatMap((answer) => (answer !== undefined && 'runId' in answer ? [answer.runId] : [])));
      expect(ids.size, `call ${at}`).toBe(1);
      const [runId] = ids;
      if (runId === undefined) throw new Error('no run');
      const run = { ...scope, runId };
      // What dies comes back by the sweep; the call that dies may be the sweep's own.
      for (let round = 0; round < 5; round += 1) {
        await home.settle().catch(() => undefined);
        home.ports.clock.advance(minutes(4));
        await sweepRun(home.worker, run).catch(() => undefined);
      }
      expect(await statusOf(home, run), `call ${at}`).toBe('completed');
      expect((await home.ports.index.list(scope, { limit: 10 })).heads, `call ${at}`).toHaveLength(1);
      const head = await home.ports.log.head(run);
      expect(head?.projection.status, `call ${at}`).toBe('completed');
    }
  });
});

test('a message is known by its id alone', async () => {
  const [home, run] = await begun();
  const fold = await home.fold(run);
  expect([...fold.state.open.keys()]).toEqual([`msg_w${run.runId.slice(5)}`]);
  expect(fold.state.nodes.get([...fold.state.open.keys()][0] ?? Object('')) ?? undefined).toMatchObject({
    nodeId: nodeId(`msg_w${run.runId.slice(5)}`),
    iteration: topLevel,
  });
});
