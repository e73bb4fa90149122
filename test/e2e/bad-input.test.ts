/** Refused requests and their errors, and runs whose nodes exceed a limit. */
import { programPath } from '../../lib/ports/programs.ts';
import { externalRunId } from '../../lib/engine/external/run.ts';
import { appName } from '../../lib/engine/ids.ts';
import { createHmac, randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type ErrorCode, errorCatalogue, errorCodes } from '../../lib/api/errors.ts';
import { definitionLimits } from '../../lib/engine/graph/findings.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { refusedByTheWorld } from './bad-world.ts';
import { httpWorkflow, backtracking, chain, repeatedEchoes, longChain, scripted } from './bad-workflows.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { findOrder } from '../functions/queries.ts';
import { maxCopiedValues } from '../../lib/service/kinds/code/rerun-code-run.ts';
import { orderTotal } from './workflows.ts';

let cloud: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud();
  expect((await cloud.call('POST', '/v1/workflows', orderTotal)).status).toBe(201);
});
afterAll(() => cloud.stop());

const startedShape = z.object({ runId: z.string() });
const failureShape = z.looseObject({ cause: z.string(), code: z.string() });
const runShape = z.looseObject({
  status: z.string(),
  output: z.unknown().optional(),
  error: failureShape.optional(),
  nodes: z.array(z.looseObject({ nodeId: z.string(), status: z.string(), error: failureShape.optional() })),
});

const publish = async (workflow: object): Promise<void> => {
  const { status, body } = await cloud.call('POST', '/v1/workflows', workflow);
  expect(status, JSON.stringify(body)).toBe(201);
};
const begin = async (workflowName: string, input: unknown = {}): Promise<string> => {
  const answer = await cloud.call('POST', '/v1/runs', { workflowName, input }, { 'idempotency-key': workflowName });
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  return startedShape.parse(answer.body).runId;
};
const see = async (runId: string) => runShape.parse((await cloud.call('GET', `/v1/runs/${runId}`)).body);
const ended = async (runId: string) => {
  await expect.poll(async () => (await see(runId)).status, { timeout: 60_000, interval: 100 }).not.toMatch(/pending|running/);
  return see(runId);
};
const nodeOf = async (runId: string, nodeId: string) => (await ended(runId)).nodes.find((node) => node.nodeId === nodeId);

const start = (body: unknown, headers: Record<string, string> = { 'idempotency-key': crypto.randomUUID() }) =>
  cloud.call('POST', '/v1/runs', body, headers);
const order = { workflowName: 'order-total', input: { items: [] } };
const keyShape = z.object({ keyId: z.string() });
/** The id in the key's own text: `sw_<environment>_<keyId>_<secret>`. */
const ownKeyId = (): string => cloud.apiKey.split('_')[2] ?? '';
const create = (manifest: object) => cloud.call('POST', '/v1/deployments', manifest);
const createWith = async (manifest: object, archive: Uint8Array) => {
  const form = new FormData();
  form.append('manifest', JSON.stringify(manifest));
  form.append('artifact', new Blob([Buffer.from(archive)]));
  const headers = { authorization: `Bearer ${cloud.apiKey}` };
  const answer = await fetch(`${cloud.url}/v1/deployments`, { method: 'POST', headers, body: form });
  return { status: answer.status, body: z.looseObject({}).parse(await answer.json()) };
};
/** The signature of the provider `demo`. */
const webhook = (provider: string, secret: string, body = '{}') =>
  cloud.call('POST', `/v1/webhooks/${provider}`, body, {
    'x-hub-signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'x-github-delivery': crypto.randomUUID(),
  });
/** Deploys one code workflow, written without the SDK: `fn` is its function. */
const deployCode = async (name: string, fn: string, spec = '') => {
  const code = `export const workflows = [{ [Symbol.for('stepwell.workflow')]: 1, spec: { name: '${name}'${spec} }, fn: ${fn} }];`;
  const change = { runtime: 'code', app: appName(name) } as const;
  const { manifest, archive } = await packedDeployment(name, { workflows: [name], files: { [programPath]: code }, change });
  expect((await createWith(manifest, archive)).status).toBe(201);
};
const listShape = z.looseObject({ data: z.array(z.looseObject({ status: z.string() })) });
const endedCode = async (name: string, status: string): Promise<string> => {
  const { body } = await start({ workflowName: name, deploymentId: name });
  const { runId } = startedShape.parse(body);
  // The list has no outputs: to read a thousand of them from the bucket takes longer than the run.
  const statuses = async () =>
    listShape.parse((await cloud.call('GET', `/v1/runs?workflowName=${name}`)).body).data.map((run) => run.status);
  await expect.poll(statuses, { timeout: 120_000, interval: 200 }).toEqual([status]);
  return runId;
};
const rerunFrom = (runId: string, fromNode: string) =>
  cloud.call('POST', `/v1/runs/${runId}/rerun`, { fromNode }, { 'idempotency-key': runId });
const fetchWithoutKey = async (method: string, path: string, headers: Readonly<Record<string, string>> = {}, body?: object) => {
  const answer = await fetch(`${cloud.url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  return { status: answer.status, body: await answer.json() };
};
const unknownRunId = 'wrun_00000000000000000000000000';

describe('refused requests', () => {
  /** each code of the catalogue below 500, with a request that causes it */
  const asked: { readonly [Code in ErrorCode]?: () => Promise<{ status: number; body: unknown }> } = {
    unauthorized: () => cloud.call('GET', '/v1/runs', undefined, { authorization: `Bearer ${cloud.apiKey.slice(0, -1)}` }),
    key_in_query: () => cloud.call('GET', `/v1/runs/${unknownRunId}/events?api_key=${cloud.apiKey}`),
    ticket_invalid: async () => {
      const answer = await fetch(`${cloud.url}/v1/runs/${unknownRunId}/events?ticket=st_${'x'.repeat(43)}`);
      return { status: answer.status, body: await answer.json() };
    },
    session_invalid: () => {
      const port = new URL(cloud.url).port;
      const cookie = { cookie: `stepwell_${port}=ss_${'x'.repeat(43)}`, 'sec-fetch-site': 'same-origin' };
      return fetchWithoutKey('GET', '/v1/runs', cookie);
    },
    sign_in_refused: () => {
      const answer = {
        code: 'of no provider',
        verifier: 'v'.repeat(43),
        nonce: 'n'.repeat(22),
        redirectUri: `${cloud.url}/console/oidc`,
      };
      return fetchWithoutKey('POST', '/v1/sessions/provider', { 'sec-fetch-site': 'same-origin' }, answer);
    },
    too_many_embeds: async () => {
      const embed = { workflowName: 'order-total', origins: ['https://shop.example'] };
      for (let made = 0; made < 100; made += 1) await cloud.call('POST', '/v1/embeds', embed);
      return cloud.call('POST', '/v1/embeds', embed);
    },
    link_invalid: () =>
      fetchWithoutKey('POST', '/v1/sessions/exchange', { 'sec-fetch-site': 'same-origin' }, { link: `sl_${'x'.repeat(43)}` }),
    cross_origin: () => fetchWithoutKey('DELETE', '/v1/session'),
    // The local API accepts http by its settings; this cloud requires https.
    https_required: async () => {
      const strict = await startInProcessCloud({ 'stepwell:requireHttps': true });
      try {
        return await strict.call('GET', '/v1/runs', undefined, { 'x-forwarded-proto': 'https' });
      } finally {
        await strict.stop();
      }
    },
    invalid_signature: () => webhook('demo', 'another secret'),
    unknown_provider: () => webhook('unknown', cloud.webhookSecret),
    missing_scope: async () =>
      cloud.call('GET', '/v1/runs', undefined, {
        authorization: `Bearer ${await cloud.createKey('--environment', 'local', '--scopes', 'trigger:write')}`,
      }),
    rate_limited: async () => {
      const authorization = `Bearer ${await cloud.createKey('--environment', 'local', '--scopes', 'admin', '--rate', '1')}`;
      const list = () => cloud.call('GET', '/v1/runs', undefined, { authorization });
      // One request a minute: of three consecutive requests, which may span two minutes, one exceeds the limit.
      const answers = [await list(), await list(), await list()];
      return answers.find(({ status }) => status === 429) ?? { status: 200, body: answers };
    },
    invalid_request: () => start({ workflowName: 7 }),
    payload_too_large: () => start({ ...order, input: 'x'.repeat(7_000_000) }),
    not_acceptable: () => cloud.call('GET', `/v1/runs/${unknownRunId}/events`, undefined, { accept: 'text/html' }),
    not_found: () => cloud.call('GET', `/v1/runs/${unknownRunId}`),
    method_not_allowed: () => cloud.call('PATCH', '/v1/runs'),
    cursor_invalid: () => cloud.call('GET', '/v1/workflows?cursor=nothing'),
    query_exists: async () => {
      await cloud.call('POST', '/v1/queries', findOrder);
      return cloud.call('POST', '/v1/queries', findOrder);
    },
    query_not_found: () => cloud.call('GET', '/v1/queries/unknown'),
    draft_not_found: () => cloud.call('GET', '/v1/workflows/not-published/draft'),
    draft_conflict: () => cloud.call('POST', '/v1/workflows/not-published/draft', { definition: {}, revision: 7, basedOn: null }),
    version_conflict: () =>
      cloud.call('POST', '/v1/workflows', { ...orderTotal, options: { deadlineSeconds: 60 }, basedOn: null }),
    workflow_exists: () => cloud.call('POST', '/v1/workflows', orderTotal),
    workflow_not_found: () => cloud.call('GET', '/v1/workflows/not-published'),
    workflow_archived: async () => {
      await publish(chain('archived', []));
      await cloud.call('DELETE', '/v1/workflows/archived');
      return start({ workflowName: 'archived' });
    },
    workflow_deleting: async () => {
      await publish(chain('going', []));
      await cloud.call('POST', '/v1/workflows/going/delete', { confirm: 'going' });
      return start({ workflowName: 'going' });
    },
    workflow_scheduled: async () => {
      await publish(chain('scheduled', []));
      await cloud.call('POST', '/v1/schedules', { scheduleId: 'daily', workflowName: 'scheduled', rate: '1 day' });
      return cloud.call('POST', '/v1/workflows/scheduled/delete', { confirm: 'scheduled' });
    },
    confirmation_mismatch: () => cloud.call('POST', '/v1/workflows/order-total/delete', { confirm: 'order' }),
    // Starts are refused between the deletion, which a sweep completes, and the new workflow.
    run_deleted: async () => {
      await publish(chain('replaced', []));
      const again = () => start({ workflowName: 'replaced' }, { 'idempotency-key': 'replaced-1' });
      await again();
      await cloud.call('POST', '/v1/workflows/replaced/delete', { confirm: 'replaced' });
      const [, sweep] = [...cloud.cloud.functions].find(([name]) => /Sweep/.test(name)) ?? [];
      await sweep?.invoke('{}');
      await publish(chain('replaced', []));
      return again();
    },
    definition_invalid: () => cloud.call('POST', '/v1/workflows', chain('unbuilt', [{ id: 'l', type: 'unbuilt' }])),
    lens_exists: async () => {
      await cloud.call('POST', '/v1/lenses', { name: 'twice', template: '[[text]]' });
      return cloud.call('POST', '/v1/lenses', { name: 'twice', template: '[[text]]' });
    },
    lens_not_found: () => cloud.call('GET', '/v1/lenses/not-published'),
    lens_invalid: () => cloud.call('POST', '/v1/lenses', { name: 'bad', template: '[[text:date]]' }),
    input_invalid: async () => {
      await publish({ ...chain('declared', []), options: { args: [{ name: 'size', type: 'number', required: true }] } });
      return start({ workflowName: 'declared', input: { size: 'large' } });
    },
    unsupported_spec_version: () => start({ ...order, specVersion: 2 }),
    idempotency_required: () => start(order, {}),
    idempotency_conflict: async () => {
      await start(order, { 'idempotency-key': 'same' });
      return start({ ...order, input: { items: [1] } }, { 'idempotency-key': 'same' });
    },
    run_exists: async () => start({ ...order, runId: startedShape.parse((await start(order)).body).runId }),
    run_terminal: async () => {
      const runId = await begin('order-total', { items: [] });
      await ended(runId);
      return cloud.call('POST', `/v1/runs/${runId}/cancel`);
    },
    test_run: async () => {
      const { body } = await cloud.call('POST', '/v1/workflows/test', chain('tried', []));
      return cloud.call('POST', `/v1/runs/${startedShape.parse(body).runId}/rerun`, {}, { 'idempotency-key': 'again' });
    },
    not_a_test_run: async () => {
      const { body } = await start(order);
      return cloud.call('POST', `/v1/runs/${startedShape.parse(body).runId}/stop`);
    },
    takes_no_messages: async () => {
      const message = { runId: await begin('order-total', { items: [] }) };
      return cloud.call('POST', '/v1/queue/publish', { queueName: '__wkf_workflow_order-total', message });
    },
    no_active_deployment: () => start({ workflowName: 'not-published' }),
    invalid_deployment_id: async () => create({ ...(await packedDeployment('d')).manifest, deploymentId: '../d' }),
    invalid_manifest: async () => create({ ...(await packedDeployment('d')).manifest, runtime: 'container' }),
    deployment_exists: async () => {
      await create((await packedDeployment('twice')).manifest);
      return create((await packedDeployment('twice', { workflows: ['another'] })).manifest);
    },
    artifact_missing: async () => {
      await create((await packedDeployment('not-uploaded')).manifest);
      return cloud.call('POST', '/v1/deployments/not-uploaded/activate');
    },
    artifact_digest_mismatch: async () => createWith((await packedDeployment('other-bytes')).manifest, Buffer.from('x')),
    artifact_invalid: async () => {
      const { manifest, archive } = await packedDeployment('no-bundle', { files: { 'readme.txt': '' } });
      return createWith(manifest, archive);
    },
    workflow_name_taken: async () => {
      const { manifest, archive } = await packedDeployment('same-name', { workflows: ['order-total'] });
      await createWith(manifest, archive);
      return cloud.call('POST', '/v1/deployments/same-name/activate');
    },
    app_required: async () => {
      for (const id of ['app-one', 'app-two']) {
        const { manifest, archive } = await packedDeployment(id, { workflows: [id], change: { app: appName(id) } });
        await createWith(manifest, archive);
        await cloud.call('POST', `/v1/deployments/${id}/activate`);
      }
      const answer = await cloud.call('GET', '/v1/deployments/active');
      for (const id of ['app-one', 'app-two']) await cloud.call('POST', `/v1/deployments/${id}/deactivate`);
      return answer;
    },
    workflows_in_use: async () => {
      const { manifest, archive } = await packedDeployment('in-use', { workflows: ['used'], change: { app: appName('user') } });
      await createWith(manifest, archive);
      await cloud.call('POST', '/v1/deployments/in-use/activate');
      const availableAt = new Date(Date.now() + 3_600_000).toISOString();
      await start({ workflowName: 'used', availableAt });
      const answer = await cloud.call('POST', '/v1/deployments/in-use/deactivate');
      await cloud.call('POST', '/v1/deployments/in-use/deactivate', { allowRemoval: true });
      return answer;
    },
    too_many_apps: async () => {
      const ids = Array.from({ length: 40 }, (_, index) => `large-${index}`);
      const active: string[] = [];
      try {
        for (const id of ids) {
          const workflows = Array.from({ length: 100 }, (_, index) => `${id}.${index}.`.padEnd(128, 'w'));
          const { manifest, archive } = await packedDeployment(id, { workflows, change: { app: appName(id) } });
          await createWith(manifest, archive);
          const answer = await cloud.call('POST', `/v1/deployments/${id}/activate`);
          if (answer.status !== 200) return answer;
          active.push(id);
        }
        throw new Error('40 apps with 100 workflows each were activated');
      } finally {
        for (const id of active) await cloud.call('POST', `/v1/deployments/${id}/deactivate`);
      }
    },
    run_open: async () => {
      await deployCode('open-code', 'async () => {}');
      const availableAt = new Date(Date.now() + 3_600_000).toISOString();
      const { body } = await start({ workflowName: 'open-code', deploymentId: 'open-code', availableAt });
      return rerunFrom(startedShape.parse(body).runId, 'step');
    },
    step_rolled_back: async () => {
      await deployCode(
        'rolls-back',
        `async ({ step }) => {
          await step.run({ name: 'pay', rollback: () => {} }, () => 'paid');
          await step.run({ name: 'ship', retryPolicy: { maximumAttempts: 1 } }, () => { throw new Error('no ship'); });
        }`,
      );
      return rerunFrom(await endedCode('rolls-back', 'failed'), 'ship');
    },
    rerun_too_large: async () => {
      // Each result is too large for a commit, also compressed, so that a rerun would copy it in the bucket.
      await deployCode(
        'copies',
        `async ({ step }) => {
          const { randomBytes } = await import('node:crypto');
          const large = () => randomBytes(9_000).toString('base64');
          await Promise.all(Array.from({ length: ${maxCopiedValues + 1} }, (_, index) => step.run({ name: 's' + index }, large)));
          await step.run({ name: 'end' }, () => 'ended');
        }`,
        `, maxStepAttempts: ${maxCopiedValues + 2}`,
      );
      return rerunFrom(await endedCode('copies', 'completed'), 'end');
    },
    no_previous_deployment: () => cloud.call('POST', '/v1/deployments/rollback'),
    deployment_active: async () => {
      const { manifest, archive } = await packedDeployment('active-one', { workflows: ['coded'] });
      await createWith(manifest, archive);
      await cloud.call('POST', '/v1/deployments/active-one/activate');
      return cloud.call('DELETE', '/v1/deployments/active-one');
    },
    deployment_in_use: async () => {
      const availableAt = new Date(Date.now() + 3_600_000).toISOString();
      for (const id of ['held', 'held-no-more']) {
        const { manifest, archive } = await packedDeployment(id, { workflows: ['waits-for-its-hour'] });
        await createWith(manifest, archive);
        await cloud.call('POST', `/v1/deployments/${id}/activate`);
        if (id === 'held') await start({ workflowName: 'waits-for-its-hour', availableAt });
      }
      return cloud.call('DELETE', '/v1/deployments/held');
    },
    deployment_not_verified: async () => {
      await create((await packedDeployment('unseen', { workflows: ['unseen'] })).manifest);
      return start({ workflowName: 'unseen', deploymentId: 'unseen' });
    },
    unknown_queue: async () => {
      const { manifest, archive } = await packedDeployment('few-queues', { workflows: ['listens'] });
      await createWith(manifest, archive);
      const availableAt = new Date(Date.now() + 3_600_000).toISOString();
      const { body } = await start({ workflowName: 'listens', deploymentId: 'few-queues', availableAt });
      const message = { runId: startedShape.parse(body).runId };
      return cloud.call('POST', '/v1/queue/publish', { queueName: '__wkf_step_anything', message });
    },
    deployment_mismatch: async () => {
      const { manifest, archive } = await packedDeployment('its-own', { workflows: ['stays'] });
      await createWith(manifest, archive);
      const availableAt = new Date(Date.now() + 3_600_000).toISOString();
      const { body } = await start({ workflowName: 'stays', deploymentId: 'its-own', availableAt });
      const message = { runId: startedShape.parse(body).runId };
      return cloud.call('POST', '/v1/queue/publish', {
        queueName: '__wkf_workflow_stays',
        message,
        opts: { deploymentId: 'another' },
      });
    },
    node_not_reached: async () => {
      const branches = [{ id: 'taken', conditions: [{ leftValue: '1', operator: 'equals', rightValue: '1' }] }];
      await publish({
        name: 'forks',
        nodes: [
          { id: 'start', type: 'start' },
          { id: 'fork', type: 'condition', config: { branches } },
          { id: 'here', type: 'end' },
          { id: 'there', type: 'end' },
        ],
        edges: [
          { source: 'start', target: 'fork' },
          { source: 'fork', target: 'here', sourceHandle: 'taken' },
          { source: 'fork', target: 'there', sourceHandle: 'default' },
        ],
      });
      const runId = await begin('forks', {});
      return cloud.call('POST', `/v1/runs/${runId}/rerun`, { fromNode: 'there' }, { 'idempotency-key': 'not-reached' });
    },
    schedule_exists: async () => {
      const schedule = { scheduleId: 'twice', workflowName: 'order-total', rate: '1 day' };
      expect((await cloud.call('POST', '/v1/schedules', schedule)).status).toBe(201);
      return cloud.call('POST', '/v1/schedules', { ...schedule, rate: '2 days' });
    },
    ...refusedByTheWorld(() => cloud),
    foreign_project: () => cloud.call('POST', '/v1/keys', { scopes: ['runs:read'], projectId: 'another-project' }),
    // The id alone shows that a worker of another library executes the run.
    external_run: () => cloud.call('POST', `/v1/runs/${externalRunId(crypto.randomUUID())}/wake`),
    key_in_use: () => cloud.call('DELETE', `/v1/keys/${ownKeyId()}`),
    key_retired: async () => {
      const { keyId } = keyShape.parse((await cloud.call('POST', '/v1/keys', { scopes: ['runs:read'] })).body);
      await cloud.call('DELETE', `/v1/keys/${keyId}`);
      return cloud.call('POST', `/v1/keys/${keyId}/rotate`, {});
    },
  };

  test.each(Object.entries(asked))('%s', async (code, ask) => {
    const { status, body } = await ask();
    expect([body, status]).toMatchObject([
      { code, message: expect.any(String), correlationId: expect.any(String) },
      errorCatalogue[z.enum(errorCodes).parse(code)].status,
    ]);
  });

  test('the requests cover every code below 500, except for those of the web ACL, of an identity provider and of 26,000 events', () => {
    const others: readonly ErrorCode[] = ['request_blocked', 'event_limit', 'not_granted', 'key_without_secret'];
    const known = errorCodes.filter((code) => errorCatalogue[code].status < 500 && !others.includes(code));
    expect(Object.keys(asked).toSorted()).toEqual(known.toSorted());
  });

  test.each([
    ['no JSON', '{"workflowName":', '', 'not_json'],
    ['a list', '[]', '', 'invalid_type'],
    ['a number beyond all numbers', '{"workflowName":"order-total","input":1e999}', '/input', 'not_finite'],
    ['half a character', '{"workflowName":"order-total","input":"\\ud800"}', '/input', 'not_unicode'],
    ['a key that means something to code', '{"workflowName":"order-total","__proto__":{}}', '', 'key_refused'],
    ['a name that nothing has', '{"workflowName":"order-total","colour":1}', '/colour', 'unknown_key'],
    ['nothing', undefined, '', 'body_missing'],
  ])('a body that is %s is refused with the pointer of the error', async (_what, text, pointer, code) => {
    const { status, body } = await start(text);
    expect([status, body]).toMatchObject([400, { code: 'invalid_request', errors: [{ pointer, code }] }]);
  });

  test.each(['toString', 'constructor', '__proto__'])(
    '%s, which every object has, is no parameter, and a header like any',
    async (name) => {
      const { status, body } = await cloud.call('GET', `/v1/runs?${name}=1`, undefined, { [name]: '1' });
      expect([status, body]).toMatchObject([400, { errors: [{ pointer: `query/${name}`, code: 'unknown_key' }] }]);
      expect((await cloud.call('GET', '/v1/runs', undefined, { [name]: '1' })).status).toBe(200);
    },
  );

  test('a body with five thousand levels is refused', async () => {
    const { body } = await start(`${'['.repeat(5_000)}${']'.repeat(5_000)}`);
    expect(body).toMatchObject({ code: 'invalid_request', errors: [{ code: 'too_deep' }] });
  });

  test('a key sees only data of its own project', async () => {
    const other = await cloud.createKey('--project', 'other', '--environment', 'local', '--scopes', 'admin');
    const { body } = await cloud.call('GET', '/v1/workflows', undefined, { authorization: `Bearer ${other}` });
    expect(body).toMatchObject({ data: [] });
  });
});

describe('definitions', () => {
  test('5,000 nodes are refused at once, with the documented limit', async () => {
    const before = performance.now();
    const { status, body } = await cloud.call('POST', '/v1/workflows', longChain('too-long', 5_000));
    expect([status, body]).toMatchObject([
      400,
      {
        errors: [
          {
            code: 'definition_too_large',
            pointer: '/nodes',
            message: `5000 nodes are more than the limit of ${definitionLimits.nodes}`,
          },
        ],
      },
    ]);
    // An upper bound: the gateway times out after 29 s.
    expect(performance.now() - before).toBeLessThan(10_000);
  });

  test('2,000 nodes are accepted, and run to the end', async () => {
    await publish(longChain('long', definitionLimits.nodes));
    const { status, nodes } = await ended(await begin('long'));
    expect([status, nodes.length, new Set(nodes.map((node) => node.status))]).toEqual([
      'completed',
      2_000,
      new Set(['completed']),
    ]);
  });

  test('a regular expression with catastrophic backtracking returns a result', async () => {
    await publish(backtracking('backtracking', '^(a+)+$'));
    const { status, nodes } = await ended(await begin('backtracking', { text: `${'a'.repeat(50_000)}!` }));
    expect([status, nodes.map((node) => node.status)]).toEqual(['completed', ['completed', 'completed', 'skipped', 'completed']]);
  });

  test('a regular expression that needs backtracking is refused', async () => {
    const { status, body } = await cloud.call('POST', '/v1/workflows', backtracking('looks-ahead', '^(?=a)'));
    expect([status, body]).toMatchObject([400, { code: 'definition_invalid', errors: [{ code: 'regex_unsupported' }] }]);
  });
});

describe('scripts that exceed a limit', () => {
  const scripts = [
    ['loops for ever', 'for (;;);', 'timed_out', 'timeout', 'script_timeout'],
    ['matches for ever', `return /^(a+)+$/.test('${'a'.repeat(40)}!')`, 'timed_out', 'timeout', 'script_timeout'],
    ['eats memory', `const all = []; for (;;) all.push('x'.repeat(1e5) + all.length)`, 'failed', 'error', 'memory_exceeded'],
    ['calls itself for ever', 'const deeper = () => deeper() + 1; return deeper()', 'failed', 'error', 'recursion_exceeded'],
    ['returns a function', 'return () => 1', 'failed', 'invalid', 'output_invalid'],
    ['returns a cycle', 'const one = {}; one.one = one; return one', 'failed', 'invalid', 'output_invalid'],
    ['returns 20 MB', `return 'x'.repeat(20_000_000)`, 'failed', 'invalid', 'output_too_large'],
    ['throws', `throw new Error('no')`, 'failed', 'error', 'script_threw'],
    ['looks for the host', 'return process.env', 'failed', 'code_error', 'script_threw'],
  ] as const;
  const nameOf = (what: string): string => what.replaceAll(' ', '-');
  const runs = new Map<string, string>();
  let innocent: readonly string[];

  // all concurrently, together with valid runs
  beforeAll(async () => {
    for (const [what, code] of scripts)
      await publish(scripted(nameOf(what), code, code.includes('for (;;);') || code.includes('a+') ? 1 : 30));
    await Promise.all(scripts.map(async ([what]) => void runs.set(what, await begin(nameOf(what)))));
    innocent = await Promise.all(
      Array.from(
        { length: 4 },
        async () => startedShape.parse((await start({ ...order, input: { items: [{ qty: 3, price: 50 }] } })).body).runId,
      ),
    );
  });

  test.each(scripts)(
    'one that %s: its node fails with the cause, its error branch gets it, and the run continues',
    async (what, _code, status, cause, code) => {
      const run = await ended(runs.get(what) ?? '');
      expect(run.nodes.find(({ nodeId }) => nodeId === 'script')).toMatchObject({ status, attempt: 1, error: { cause, code } });
      expect([run.status, run.output]).toMatchObject([
        'completed',
        { found: { success: false, error: { cause, message: expect.any(String), attempts: 1 } } },
      ]);
    },
  );

  test('concurrent valid runs complete', async () => {
    for (const runId of innocent) expect(await ended(runId)).toMatchObject({ status: 'completed', output: { due: 135 } });
  });
});

describe('values that are too large for an item or a message', () => {
  test('an incompressible input, returned by ten sibling nodes and by the end node', async () => {
    const noise = randomBytes(600_000).toString('base64');
    await publish(repeatedEchoes('echoes', 10));
    const runId = await begin('echoes', noise);
    const { status, nodes } = await ended(runId);
    expect([status, new Set(nodes.map((node) => node.status))]).toEqual(['completed', new Set(['completed'])]);
    const { body } = await cloud.call('GET', `/v1/runs/${runId}/events?limit=1000`);
    // the values are offloaded to the bucket, and events contain references
    expect(JSON.stringify(body).length).toBeLessThan(50_000);
  });
});

describe('requests to forbidden addresses', () => {
  test.each([
    'http://169.254.169.254/latest/meta-data/iam/security-credentials/',
    'http://localhost/',
    'http://[::1]/',
    'http://127.0.0.1:4700/v1/runs',
    'http://2130706433/',
    'http://[::ffff:127.0.0.1]/',
    'http://10.0.0.1/',
  ])('%s', async (url) => {
    const name = `ask-${url.replaceAll(/[^a-z0-9]+/g, '-')}`;
    await publish(httpWorkflow(name, url));
    const runId = await begin(name);
    expect(await nodeOf(runId, 'ask')).toMatchObject({
      status: 'failed',
      attempt: 1,
      error: { cause: 'forbidden', code: 'address_forbidden' },
    });
    expect((await ended(runId)).error).toMatchObject({
      cause: 'forbidden',
      code: 'address_forbidden',
      details: { nodeId: 'ask' },
    });
  });

  test('a resolved address is checked by the same rule', async () => {
    await publish(httpWorkflow('ask-anything', '{{ctx.input.url}}'));
    expect(await nodeOf(await begin('ask-anything', { url: 'file:///etc/passwd' }), 'ask')).toMatchObject({
      status: 'failed',
      error: { cause: 'forbidden', code: 'protocol_forbidden' },
    });
  });
});
