/** Runs of code that is replayed over HTTP: started like any other, and shown by their steps. */
import { expect, test } from 'vitest';
import { after, hours } from '../../lib/engine/time.ts';
import { functionCommand } from '../service/scripted-programs.ts';
import { driveCode, failingAt, shippedCode, startCode } from './code-api.ts';
import { http, started, textIn } from './http.ts';

test('a code run shows its version and its steps by name; workflow tasks are only in its events', async () => {
  const [api, key] = await shippedCode();
  const begun = await startCode(api, key);
  expect(begun).toMatchObject({ status: 202, body: { status: 'pending', deploymentId: 'dep_1' } });
  const path = `/v1/runs/${textIn(begun, 'runId')}`;
  expect((await api.call('GET', path, { key })).body).toMatchObject({ version: '1', workflowVersion: null, nodes: [] });
  const wakeAt = after(api.world.clock.now(), hours(1));
  await driveCode(api, [[functionCommand('charge card')], [{ kind: 'sleep', key: 'nap', wakeAt }]]);
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
  await driveCode(api, [[functionCommand('charge card')], [{ kind: 'sleep', key: 'nap', wakeAt }]]);
  expect((await api.call('GET', path, { key })).body).toMatchObject({ status: 'completed', output: ['charge card', 'nap'] });
});

test('a step whose function runs is shown as running since its dispatch, without a commit for its start', async () => {
  const [api, key] = await shippedCode();
  const path = `/v1/runs/${textIn(await startCode(api, key), 'runId')}`;
  const dispatchedAt = new Date(api.world.clock.now()).toISOString();
  const whileItRuns: unknown[] = [];
  await driveCode(api, [[functionCommand('charge card')]], async () => {
    whileItRuns.push((await api.call('GET', path, { key })).body);
    return 'done';
  });
  expect(whileItRuns).toMatchObject([
    { nodes: [{ label: 'charge card', status: 'running', startedAt: dispatchedAt, attempt: 1 }] },
  ]);
});

test('an unnamed version is null', async () => {
  const [api, key] = await shippedCode([{ name: 'order' }]);
  const begun = await startCode(api, key);
  expect((await api.call('GET', `/v1/runs/${textIn(begun, 'runId')}`, { key })).body).toMatchObject({ version: null });
});

test('a code run accepts no messages, and is rerun from its start or from a step', async () => {
  const [api, key] = await shippedCode();
  const runId = textIn(await startCode(api, key), 'runId');
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
  expect(await again({})).toMatchObject({ status: 202, body: { rerunOf: runId, deploymentId: 'dep_1' } });
  expect(await again({ fromNode: 'charge card' })).toMatchObject({ status: 409, body: { code: 'run_open' } });
  await driveCode(api, [[functionCommand('charge card')], [functionCommand('ship')]]);
  expect(await again({ fromNode: 'missing step' })).toMatchObject({
    status: 404,
    body: { code: 'not_found', message: 'The run has no step "missing step": it never began.' },
  });
  expect(await again({ fromNode: 'charge card', results: { 'ship/~': 1 } })).toMatchObject({
    status: 400,
    body: { errors: [{ pointer: '/results/ship~1~0', code: 'not_a_kept_step' }] },
  });
  expect(await again({ version: 1, fromNode: 'ship' })).toMatchObject({
    status: 400,
    body: { errors: [{ pointer: '/version' }] },
  });
  const continued = await again({ fromNode: 'ship', results: { 'charge card': { id: 'ch_1' } } });
  expect(continued).toMatchObject({ status: 202, body: { rerunOf: runId } });
  const { body } = await api.call('GET', `/v1/runs/${textIn(continued, 'runId')}`, { key });
  expect(body).toMatchObject({
    rerunFrom: 'ship',
    nodes: [{ nodeId: 'charge.x20.card', status: 'completed', output: { id: 'ch_1' } }],
  });
});

test('results are replaced only in reruns of code', async () => {
  const api = http();
  const key = await api.key(['admin']);
  const runId = await started(api, key);
  const headers = { 'Idempotency-Key': 'again' };
  const answer = await api.call('POST', `/v1/runs/${runId}/rerun`, { key, headers, body: { results: { a: 1 } } });
  expect(answer).toMatchObject({ status: 400, body: { errors: [{ pointer: '/results', code: 'not_of_this_run' }] } });
});

test('a step that was rolled back is kept only with a replaced result', async () => {
  const [api, key] = await shippedCode();
  const runId = textIn(await startCode(api, key), 'runId');
  await driveCode(
    api,
    [[functionCommand('pay', { hasRollback: true })], [functionCommand('ship'), functionCommand('fails')]],
    failingAt('fails'),
  );
  const again = (body: object, name: string) =>
    api.call('POST', `/v1/runs/${runId}/rerun`, { key, body, headers: { 'Idempotency-Key': name } });
  expect(await again({ fromNode: 'ship' }, 'one')).toMatchObject({
    status: 409,
    body: { code: 'step_rolled_back', message: 'The run rolled back the step "pay": its result does not hold.' },
  });
  expect(await again({ fromNode: 'ship', results: { pay: 'by hand' } }, 'two')).toMatchObject({ status: 202 });
});
