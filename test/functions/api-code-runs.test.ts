/** Runs of code that is replayed over HTTP: started like any other, and shown by their steps. */
import { pointerAfter } from '../../lib/ports/deployments.ts';
import { expect, test } from 'vitest';
import { environment, projectId } from '../../lib/engine/ids.ts';
import { after, days, hours, minutes } from '../../lib/engine/time.ts';
import { Plans } from '../../lib/service/commit/plans.ts';
import { runKinds } from '../../lib/service/kinds/run-kinds.ts';
import { runWorkflowTask } from '../../lib/service/kinds/code/run-workflow-task.ts';
import { codeManifest } from '../service/code-test-env.ts';
import { type StepFunction, type ScriptStage, ScriptedPrograms, functionCommand } from '../service/scripted-programs.ts';
import { simulatedTypes } from '../simulation/random-graph.ts';
import { type Http, http, textIn } from './http.ts';

async function shipped(workflows?: Parameters<typeof codeManifest>[1]): Promise<readonly [Http, string]> {
  const api = http();
  const { world } = api;
  const now = world.clock.now();
  const scope = { projectId: projectId('acme'), environment: environment('test') };
  const manifest = codeManifest('dep_1', workflows);
  await world.deployments.create(scope, { manifest, createdAt: now, createdBy: null, verifiedAt: now });
  const activation = { deploymentId: manifest.deploymentId, at: now, by: null };
  await world.deployments.movePointer(scope, 0, pointerAfter(undefined, manifest, activation));
  return [api, await api.key(['admin'])];
}

const start = (api: Http, key: string) =>
  api.call('POST', '/v1/runs', { key, body: { workflowName: 'order', input: { n: 1 } }, headers: { 'Idempotency-Key': 'k' } });

async function drive({ world }: Http, stages: readonly ScriptStage[], stepFunction?: StepFunction): Promise<void> {
  const deps = { ...world, settings: { retentionMs: days(30), idempotencyMs: hours(24), requiresHttps: true } };
  const programs = new ScriptedPrograms(() => world.clock, stages, stepFunction);
  const driver = { deps, plans: new Plans(simulatedTypes), kinds: runKinds, by: 'code', programs };
  const delivery = { isRedelivered: false, mustEndAt: after(world.clock.now(), minutes(15)) };
  for (const job of world.jobs.takeMessages()) if (job.kind === 'workflow_task') await runWorkflowTask(driver, job, delivery);
}

test('a code run shows its version and its steps by name; workflow tasks are only in its events', async () => {
  const [api, key] = await shipped();
  const started = await start(api, key);
  expect(started).toMatchObject({ status: 202, body: { status: 'pending', deploymentId: 'dep_1' } });
  const path = `/v1/runs/${textIn(started, 'runId')}`;
  expect((await api.call('GET', path, { key })).body).toMatchObject({ version: '1', workflowVersion: null, nodes: [] });
  const wakeAt = after(api.world.clock.now(), hours(1));
  await drive(api, [[functionCommand('charge card')], [{ kind: 'sleep', key: 'nap', wakeAt }]]);
  const shown = await api.call('GET', path, { key });
  expect(shown.body).toMatchObject({
    status: 'running',
    deploymentId: 'dep_1',
    input: { n: 1 },
    used: { nodeExecutions: 1, tokens: 0 },
    nodes: [
      { nodeId: 'charge.x20.card', type: 'function', label: 'charge card', status: 'completed', attempt: 1 },
      { nodeId: 'nap', type: 'sleep', label: 'nap', status: 'waiting' },
    ],
  });
  const { body } = await api.call('GET', `${path}/events`, { key });
  expect(JSON.stringify(body)).toContain('"nodeId":".workflow-task.1"');
  const list = await api.call('GET', '/v1/runs', { key });
  expect(list.body).toMatchObject({ data: [{ version: '1', workflowVersion: null, workflowName: 'order' }] });
  expect((await api.call('POST', `${path}/wake`, { key })).body).toEqual({ accepted: true, woken: ['nap'] });
  await drive(api, [[functionCommand('charge card')], [{ kind: 'sleep', key: 'nap', wakeAt }]]);
  expect((await api.call('GET', path, { key })).body).toMatchObject({ status: 'completed', output: ['charge card', 'nap'] });
});

test('a step whose function runs is shown as running since its dispatch, without a commit for its start', async () => {
  const [api, key] = await shipped();
  const path = `/v1/runs/${textIn(await start(api, key), 'runId')}`;
  const dispatchedAt = new Date(api.world.clock.now()).toISOString();
  const whileItRuns: unknown[] = [];
  await drive(api, [[functionCommand('charge card')]], async () => {
    whileItRuns.push((await api.call('GET', path, { key })).body);
    return 'done';
  });
  expect(whileItRuns).toMatchObject([
    { nodes: [{ label: 'charge card', status: 'running', startedAt: dispatchedAt, attempt: 1 }] },
  ]);
});

test('an unnamed version is null', async () => {
  const [api, key] = await shipped([{ name: 'order' }]);
  const started = await start(api, key);
  expect((await api.call('GET', `/v1/runs/${textIn(started, 'runId')}`, { key })).body).toMatchObject({ version: null });
});

test('a code run accepts no messages, and can be rerun only from its start', async () => {
  const [api, key] = await shipped();
  const runId = textIn(await start(api, key), 'runId');
  const message = { queueName: '__wkf_workflow_order', message: { runId } };
  expect(await api.call('POST', '/v1/queue/publish', { key, body: message })).toMatchObject({
    status: 409,
    body: { code: 'takes_no_messages', recovery: expect.stringContaining('/signals') },
  });
  const again = (body: object) =>
    api.call('POST', `/v1/runs/${runId}/rerun`, {
      key,
      body,
      headers: { 'Idempotency-Key': JSON.stringify(body).length.toString() },
    });
  expect(await again({ fromNode: 'a' })).toMatchObject({ status: 400, body: { errors: [{ pointer: '/fromNode' }] } });
  expect(await again({})).toMatchObject({ status: 202, body: { rerunOf: runId, deploymentId: 'dep_1' } });
});
