/** Every error code is produced by a request that deserves it. */
import { randomBytes, randomUUID } from 'node:crypto';
import { findOrder } from './queries.ts';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { type ErrorCode, errorCatalogue, errorCodes } from '../../lib/api/errors.ts';
import { routes } from '../../lib/api/routes.ts';
import { externalRunId } from '../../lib/engine/external/run.ts';
import { eventMargin, maxEvents } from '../../lib/engine/devkit/events.ts';
import { appName, commitNo, deploymentId, environment, eventId, keyId, projectId, runId } from '../../lib/engine/ids.ts';
import { after, days } from '../../lib/engine/time.ts';
import { pointerAfter } from '../../lib/ports/deployments.ts';
import type { RedeemedCode } from '../../lib/ports/identity-provider.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { digestOfNoSecret } from '../../lib/service/access/create-key.ts';
import { maxCopiedValues } from '../../lib/service/kinds/code/rerun-code-run.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { functionCommand } from '../service/scripted-programs.ts';
import { driveCode, failingAt, shippedCode, startCode } from './code-api.ts';
import { type Answered, type CallOptions, type Http, formOf, http, instantGraph, openGraph, started } from './http.ts';
import { delivery } from './webhook-providers.ts';

const runIdOf = ({ body }: Answered): string => runId(z.string().parse(body['runId']));
const unknownRun = runId('wrun_01ARZ3NDEKTSV4RRFFQ69G5FAV');
const start = (body: object, key: string, idempotencyKey = 'k'): CallOptions => ({
  key,
  body,
  headers: { 'Idempotency-Key': idempotencyKey },
});
const create = (key: string, graph: object = instantGraph()): CallOptions => ({ key, body: { name: 'flow', ...graph } });
const lens = (key: string, more: object = {}): CallOptions => ({ key, body: { name: 'tone', template: '[[text]]', ...more } });
const withKey = async (of: Http = http()): Promise<readonly [Http, string]> => [of, await of.key(['admin'])];
const breaking = (error: Error) => () =>
  http(() => ({ workflows: new Proxy(http().world.workflows, { get: () => () => Promise.reject(error) }) }));

/** With the deployment `d`, whose workflow is `hello`. */
const shipped = async (): Promise<readonly [Http, string]> => {
  const [api, key] = await withKey();
  const { manifest, archive } = await packedDeployment('d');
  await api.call('POST', '/v1/deployments', await formOf(key, { manifest: JSON.stringify(manifest), artifact: archive }));
  return [api, key];
};

/** With the active deployments of two apps. */
const withTwoApps = async (): Promise<readonly [Http, string]> => {
  const [api, key] = await shipped();
  const { manifest, archive } = await packedDeployment('e', { workflows: ['bye'], change: { app: appName('other') } });
  await api.call('POST', '/v1/deployments', await formOf(key, { manifest: JSON.stringify(manifest), artifact: archive }));
  for (const id of ['d', 'e']) await api.call('POST', `/v1/deployments/${id}/activate`, { key });
  return [api, key];
};

const application = 'https://app.example.com';
const serialized = { $bytes: 'ZGV2bFsxXQ==' };

/** With a DevKit run of a registered application, which has started. */
const devKit = async (specVersion = 5): Promise<(data: object) => Promise<Answered>> => {
  const [api, key] = await withKey();
  const registered = await api.call('POST', '/v1/world/apps', { key, body: { baseUrl: application } });
  const id = api.world.ids.runId(api.world.clock.now());
  const create = (data: object) =>
    api.call('POST', '/v1/world/events/create', { key, body: { runId: id, data: { specVersion, ...data } } });
  const eventData = { deploymentId: registered.body['deploymentId'], workflowName: 'workflow//./a//b', input: serialized };
  await create({ eventType: 'run_created', eventData });
  return create;
};

/** A read of the World that names something unknown. */
const worldRead = (path: string, body?: object) => async (): Promise<Answered> => {
  const [api, key] = await withKey();
  return api.call(body === undefined ? 'GET' : 'POST', path, { key, ...(body === undefined ? {} : { body }) });
};

/** A sign-in for which the identity provider has this answer. */
const signInWith = (redeemed: RedeemedCode): Promise<Answered> => {
  const provider = { authorizationEndpoint: async () => 'https://id.example.com/authorize', redeem: async () => redeemed };
  const rules = { claim: 'groups', subjectClaim: 'sub', grants: [{ value: 'platform', keyId: keyId('platformteam') }] };
  const api = http(() => ({}), undefined, [], true, { provider, rules, clientId: 'stepwell', scope: 'openid' });
  const verifier = 'v'.repeat(43);
  const body = { code: 'c', verifier, nonce: 'n'.repeat(22), redirectUri: 'https://api.example.com/console/oidc' };
  return api.call('POST', '/v1/sessions/provider', { body, headers: { 'Sec-Fetch-Site': 'same-origin' } });
};

const makers: Record<Exclude<ErrorCode, 'request_blocked'>, () => Promise<Answered>> = {
  unauthorized: () => http().call('GET', '/v1/runs'),
  key_in_query: async () => {
    const [api, key] = await withKey();
    return api.call('GET', '/v1/runs', { query: { api_key: key } });
  },
  ticket_invalid: () => http().call('GET', `/v1/runs/${unknownRun}/events`, { query: { ticket: `st_${'x'.repeat(43)}` } }),
  session_invalid: () => {
    const Cookie = `__Host-stepwell=ss_${'x'.repeat(43)}`;
    return http().call('GET', '/v1/runs', { headers: { Cookie, 'Sec-Fetch-Site': 'same-origin' } });
  },
  link_invalid: () => {
    const body = { link: `sl_${'x'.repeat(43)}` };
    return http().call('POST', '/v1/sessions/exchange', { body, headers: { 'Sec-Fetch-Site': 'same-origin' } });
  },
  too_many_embeds: async () => {
    const api = http((world) => ({
      embeds: overrideMethods(world.embeds, {
        list: async (scope) => {
          const [first] = await world.embeds.list(scope);
          return first === undefined ? [] : Array.from({ length: 100 }, () => first);
        },
      }),
    }));
    const key = await api.key(['admin']);
    const body = { workflowName: 'flow', origins: ['https://a.example'] };
    await api.call('POST', '/v1/embeds', { key, body });
    return api.call('POST', '/v1/embeds', { key, body });
  },
  sign_in_refused: () => signInWith({ kind: 'refused', why: 'token_nonce' }),
  not_granted: () => signInWith({ kind: 'verified', claims: { sub: 'ada', groups: ['guests'] } }),
  cross_origin: () => http().call('DELETE', '/v1/session', { headers: { 'Sec-Fetch-Site': 'cross-site' } }),
  https_required: () => http().call('GET', '/v1/runs', { headers: { 'X-Forwarded-Proto': 'http' } }),
  invalid_signature: () => http().call('POST', '/v1/webhooks/git', delivery('{}', { secret: 'another' })),
  unknown_provider: () => http().call('POST', '/v1/webhooks/nobody', delivery('{}')),
  missing_scope: async () => {
    const api = http();
    return api.call('GET', '/v1/runs', { key: await api.key(['trigger:write']) });
  },
  rate_limited: async () => {
    const api = http();
    const key = await api.key(['admin'], { rateLimitPerMinute: 1 });
    await api.call('GET', '/v1/runs', { key });
    return api.call('GET', '/v1/runs', { key });
  },
  invalid_request: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/workflows', { key, body: { name: '!' } });
  },
  payload_too_large: async () => {
    const [api, key] = await withKey();
    return api.call('POST', `/v1/runs/${unknownRun}/cancel`, { key, body: { reason: 'x'.repeat(20_000) } });
  },
  not_acceptable: async () => {
    const [api, key] = await withKey();
    const headers = { Accept: 'text/html' };
    return api.call('GET', `/v1/runs/${await started(api, key)}/events`, { key, headers });
  },
  not_found: async () => {
    const [api, key] = await withKey();
    return api.call('GET', `/v1/runs/${unknownRun}`, { key });
  },
  method_not_allowed: () => http().call('PUT', '/v1/runs'),
  cursor_invalid: async () => {
    const [api, key] = await withKey();
    return api.call('GET', '/v1/runs', { key, query: { cursor: 'made-up' } });
  },
  query_exists: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/queries', { key, body: findOrder });
    return api.call('POST', '/v1/queries', { key, body: findOrder });
  },
  query_not_found: async () => {
    const [api, key] = await withKey();
    return api.call('GET', '/v1/queries/nobody', { key });
  },
  version_conflict: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/workflows', create(key));
    return api.call('POST', '/v1/workflows/flow/versions', { key, body: { ...openGraph, basedOn: 2 } });
  },
  draft_not_found: async () => {
    const [api, key] = await withKey();
    return api.call('GET', '/v1/workflows/flow/draft', { key });
  },
  draft_conflict: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/workflows/flow/draft', { key, body: { definition: {}, revision: 1, basedOn: null } });
  },
  workflow_exists: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/workflows', create(key));
    return api.call('POST', '/v1/workflows', create(key));
  },
  workflow_not_found: async () => {
    const [api, key] = await withKey();
    return api.call('GET', '/v1/workflows/nothing', { key });
  },
  workflow_archived: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/workflows', create(key));
    await api.call('DELETE', '/v1/workflows/flow', { key });
    return api.call('POST', '/v1/runs', start({ workflowName: 'flow' }, key));
  },
  workflow_deleting: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/workflows', create(key));
    await api.call('POST', '/v1/workflows/flow/delete', { key, body: { confirm: 'flow' } });
    return api.call('POST', '/v1/runs', start({ workflowName: 'flow' }, key));
  },
  workflow_scheduled: async () => {
    const [api, key] = await withKey();
    await started(api, key);
    await api.call('POST', '/v1/schedules', { key, body: { scheduleId: 'nightly', workflowName: 'flow', rate: '1 day' } });
    return api.call('POST', '/v1/workflows/flow/delete', { key, body: { confirm: 'flow' } });
  },
  confirmation_mismatch: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/workflows', create(key));
    return api.call('POST', '/v1/workflows/flow/delete', { key, body: { confirm: 'Flow' } });
  },
  definition_invalid: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/workflows', create(key, { nodes: [] }));
  },
  lens_exists: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/lenses', lens(key));
    return api.call('POST', '/v1/lenses', lens(key));
  },
  lens_not_found: async () => {
    const [api, key] = await withKey();
    return api.call('GET', '/v1/lenses/nothing', { key });
  },
  lens_invalid: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/lenses', lens(key, { template: '[[text:date]]' }));
  },
  input_invalid: async () => {
    const [api, key] = await withKey();
    const options = { args: [{ name: 'to', type: 'string', required: true }] };
    await api.call('POST', '/v1/workflows', create(key, { ...instantGraph(), options }));
    return api.call('POST', '/v1/runs', start({ workflowName: 'flow', input: { to: 1 } }, key));
  },
  unsupported_spec_version: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/runs', start({ workflowName: 'flow', specVersion: 2 }, key));
  },
  idempotency_required: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/runs', { key, body: { workflowName: 'flow' } });
  },
  idempotency_conflict: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/workflows', create(key));
    await api.call('POST', '/v1/runs', start({ workflowName: 'flow' }, key));
    return api.call('POST', '/v1/runs', start({ workflowName: 'flow', input: 2 }, key));
  },
  run_exists: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/workflows', create(key));
    await api.call('POST', '/v1/runs', start({ workflowName: 'flow', runId: unknownRun }, key, 'one'));
    return api.call('POST', '/v1/runs', start({ workflowName: 'flow', runId: unknownRun }, key, 'two'));
  },
  run_deleted: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/workflows', create(key));
    const first = await api.call('POST', '/v1/runs', start({ workflowName: 'flow' }, key));
    const address = { projectId: projectId('acme'), environment: environment('test'), runId: runId(runIdOf(first)) };
    await api.world.log.deleteRun(address, api.world.clock.now());
    return api.call('POST', '/v1/runs', start({ workflowName: 'flow' }, key));
  },
  run_terminal: async () => {
    const [api, key] = await withKey();
    return api.call('POST', `/v1/runs/${await started(api, key)}/cancel`, { key });
  },
  test_run: async () => {
    const [api, key] = await withKey();
    const test = await api.call('POST', '/v1/workflows/test', { key, body: instantGraph() });
    return api.call('POST', `/v1/runs/${runIdOf(test)}/rerun`, { key, headers: { 'Idempotency-Key': 'again' } });
  },
  external_run: async () => {
    const [api, key] = await withKey();
    return api.call('POST', `/v1/runs/${externalRunId(randomUUID())}/wake`, { key });
  },
  not_a_test_run: async () => {
    const [api, key] = await withKey();
    return api.call('POST', `/v1/runs/${await started(api, key)}/stop`, { key });
  },
  takes_no_messages: async () => {
    const [api, key] = await withKey();
    const body = { queueName: '__wkf_workflow_flow', message: { runId: await started(api, key) } };
    return api.call('POST', '/v1/queue/publish', { key, body });
  },
  no_active_deployment: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/runs', start({ workflowName: 'nothing' }, key));
  },
  invalid_deployment_id: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/deployments', { key, body: { ...(await packedDeployment('d')).manifest, deploymentId: 'a/b' } });
  },
  invalid_manifest: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/deployments', { key, body: { deploymentId: 'd' } });
  },
  deployment_exists: async () => {
    const [api, key] = await shipped();
    return api.call('POST', '/v1/deployments', { key, body: (await packedDeployment('d', { workflows: ['other'] })).manifest });
  },
  deployment_active: async () => {
    const [api, key] = await shipped();
    await api.call('POST', '/v1/deployments/d/activate', { key });
    return api.call('DELETE', '/v1/deployments/d', { key });
  },
  app_required: async () => {
    const [api, key] = await withTwoApps();
    return api.call('GET', '/v1/deployments/active', { key });
  },
  workflows_in_use: async () => {
    const [api, key] = await withTwoApps();
    await api.call('POST', '/v1/runs', start({ workflowName: 'hello' }, key));
    return api.call('POST', '/v1/deployments/d/deactivate', { key });
  },
  too_many_apps: async () => {
    const [api, key] = await shipped();
    const names = Array.from({ length: 2_500 }, (_, index) => ({ name: `${'w'.repeat(115)}.${index}` }));
    const scope = { projectId: projectId('acme'), environment: environment('test') };
    const activation = { deploymentId: deploymentId('filler'), at: api.world.clock.now(), by: null };
    const filled = pointerAfter(undefined, { app: appName('filler'), workflows: names }, activation);
    await api.world.deployments.movePointer(scope, 0, filled);
    return api.call('POST', '/v1/deployments/d/activate', { key });
  },
  deployment_not_verified: async () => {
    const [api, key] = await withKey();
    const { manifest } = await packedDeployment('d');
    await api.call('POST', '/v1/deployments', { key, body: manifest });
    return api.call('POST', '/v1/runs', start({ workflowName: 'hello', deploymentId: 'd' }, key));
  },
  deployment_mismatch: async () => {
    const [api, key] = await shipped();
    const run = await api.call('POST', '/v1/runs', start({ workflowName: 'hello', deploymentId: 'd' }, key));
    const body = { queueName: '__wkf_step_x', message: { runId: run.body['runId'] }, opts: { deploymentId: 'other' } };
    return api.call('POST', '/v1/queue/publish', { key, body });
  },
  unknown_queue: async () => {
    const [api, key] = await shipped();
    const run = await api.call('POST', '/v1/runs', start({ workflowName: 'hello', deploymentId: 'd' }, key));
    const body = { queueName: '__wkf_step_x', message: { runId: run.body['runId'] } };
    return api.call('POST', '/v1/queue/publish', { key, body });
  },
  node_not_reached: async () => {
    const [api, key] = await withKey();
    const branches = [{ id: 'taken', conditions: [{ leftValue: '1', operator: 'equals', rightValue: '1' }] }];
    const node = (id: string, type: string, config = {}) => ({ id, type, config });
    await api.call('POST', '/v1/workflows', {
      key,
      body: {
        name: 'forks',
        nodes: [node('start', 'start'), node('fork', 'condition', { branches }), node('here', 'end'), node('there', 'end')],
        edges: [
          { source: 'start', target: 'fork' },
          { source: 'fork', target: 'here', sourceHandle: 'taken' },
          { source: 'fork', target: 'there', sourceHandle: 'default' },
        ],
      },
    });
    const run = await api.call('POST', '/v1/runs', start({ workflowName: 'forks' }, key));
    return api.call('POST', `/v1/runs/${runIdOf(run)}/rerun`, start({ fromNode: 'there' }, key, 'again'));
  },
  run_open: async () => {
    const [api, key] = await shippedCode();
    const run = await startCode(api, key);
    return api.call('POST', `/v1/runs/${runIdOf(run)}/rerun`, start({ fromNode: 'a' }, key, 'again'));
  },
  step_rolled_back: async () => {
    const [api, key] = await shippedCode();
    const run = await startCode(api, key);
    await driveCode(api, [[functionCommand('pay', { hasRollback: true })], [functionCommand('ship')]], failingAt('ship'));
    return api.call('POST', `/v1/runs/${runIdOf(run)}/rerun`, start({ fromNode: 'ship' }, key, 'again'));
  },
  rerun_too_large: async () => {
    const [api, key] = await shippedCode();
    const run = await startCode(api, key);
    const steps = Array.from({ length: maxCopiedValues + 1 }, (_, index) => functionCommand(`s${index}`));
    const large = randomBytes(9_000).toString('base64');
    await driveCode(api, [steps, [functionCommand('end')]], () => large);
    return api.call('POST', `/v1/runs/${runIdOf(run)}/rerun`, start({ fromNode: 'end' }, key, 'again'));
  },
  deployment_in_use: async () => {
    const [api, key] = await shipped();
    const scope = { projectId: projectId('acme'), environment: environment('test') };
    const since = api.world.clock.now();
    await api.world.deployments.pin(scope, deploymentId('d'), unknownRun, { since, expiresAt: after(since, days(1)) });
    return api.call('DELETE', '/v1/deployments/d', { key });
  },
  no_previous_deployment: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/deployments/rollback', { key });
  },
  artifact_missing: async () => {
    const [api, key] = await withKey();
    await api.call('POST', '/v1/deployments', { key, body: (await packedDeployment('d')).manifest });
    return api.call('POST', '/v1/deployments/d/activate', { key });
  },
  artifact_digest_mismatch: async () => {
    const [api, key] = await withKey();
    const { manifest } = await packedDeployment('d');
    const parts = { manifest: JSON.stringify(manifest), artifact: new Uint8Array(9) };
    return api.call('POST', '/v1/deployments', await formOf(key, parts));
  },
  artifact_invalid: async () => {
    const [api, key] = await withKey();
    const { manifest, archive } = await packedDeployment('d', { files: { 'a.js': '' } });
    return api.call('POST', '/v1/deployments', await formOf(key, { manifest: JSON.stringify(manifest), artifact: archive }));
  },
  workflow_name_taken: async () => {
    const [api, key] = await shipped();
    await api.call('POST', '/v1/workflows', { key, body: { name: 'hello', ...instantGraph() } });
    return api.call('POST', '/v1/deployments/d/activate', { key });
  },
  schedule_exists: async () => {
    const [api, key] = await withKey();
    await started(api, key);
    const body = { scheduleId: 'nightly', workflowName: 'flow', rate: '1 day' };
    await api.call('POST', '/v1/schedules', { key, body });
    return api.call('POST', '/v1/schedules', { key, body: { ...body, rate: '2 days' } });
  },
  foreign_project: async () => {
    const [api, key] = await withKey();
    return api.call('POST', '/v1/keys', { key, body: { projectId: 'rival', scopes: ['runs:read'] } });
  },
  key_in_use: async () => {
    const [api, key] = await withKey();
    return api.call('DELETE', `/v1/keys/${key.split('_')[2]}`, { key });
  },
  key_retired: async () => {
    const [api, key] = await withKey();
    const rotate = () => api.call('POST', `/v1/keys/${key.split('_')[2]}/rotate`, { key });
    await rotate();
    return rotate();
  },
  key_without_secret: async () => {
    const [api, key] = await withKey();
    const grant = { keyId: keyId('platformteam'), projectId: projectId('acme'), environment: environment('test') };
    await api.world.keys.putKey({ ...grant, scopes: ['admin'], secretHash: digestOfNoSecret, createdAt: api.world.clock.now() });
    return api.call('POST', '/v1/keys/platformteam/rotate', { key });
  },
  internal: async () => {
    const [api, key] = await withKey(breaking(new Error('a secret of ours'))());
    return api.call('GET', '/v1/workflows', { key });
  },
  entity_conflict: async () =>
    (await devKit())({ eventType: 'run_created', eventData: { deploymentId: 'd', workflowName: 'w' } }),
  run_expired: async () => {
    const record = await devKit();
    await record({ eventType: 'run_cancelled' });
    return record({ eventType: 'run_started' });
  },
  too_early: async () => {
    const record = await devKit();
    const step = { correlationId: 'step_1' };
    await record({ eventType: 'step_created', ...step, eventData: { stepName: 's', input: serialized } });
    const retryAfter = { $date: '2100-01-01T00:00:00.000Z' };
    await record({ eventType: 'step_retrying', ...step, eventData: { error: serialized, retryAfter } });
    return record({ eventType: 'step_started', ...step });
  },
  run_not_found: worldRead(`/v1/world/runs/${unknownRun}`),
  hook_not_found: worldRead('/v1/world/hooks/by-token/unknown'),
  step_not_found: async () => (await devKit())({ eventType: 'step_started', correlationId: 'step_9' }),
  wait_not_found: async () => (await devKit())({ eventType: 'wait_completed', correlationId: 'wait_9' }),
  upload_not_found: async () =>
    (await devKit())({
      eventType: 'step_created',
      correlationId: 'step_1',
      eventData: { stepName: 's', input: { $stored: { sha256: 'ab'.repeat(32), bytes: 5 } } },
    }),
  event_not_found: async () => {
    const [api, key] = await withKey();
    const registered = await api.call('POST', '/v1/world/apps', { key, body: { baseUrl: application } });
    const id = api.world.ids.runId(api.world.clock.now());
    const eventData = { deploymentId: registered.body['deploymentId'], workflowName: 'w', input: serialized };
    await api.call('POST', '/v1/world/events/create', {
      key,
      body: { runId: id, data: { eventType: 'run_created', eventData } },
    });
    return api.call('POST', '/v1/world/events/get', { key, body: { runId: id, eventId: 'evnt_9' } });
  },
  run_not_supported: async () => {
    const [api, key] = await withKey();
    const data = {
      eventType: 'run_created',
      specVersion: 8,
      eventData: { deploymentId: 'd', workflowName: 'w', input: serialized },
    };
    const id = api.world.ids.runId(api.world.clock.now());
    return api.call('POST', '/v1/world/events/create', { key, body: { runId: id, data } });
  },
  event_not_supported: async () => (await devKit(1))({ eventType: 'run_started' }),
  attributes_invalid: async () => {
    const changes = [{ key: '$reserved', value: 'x' }];
    return (await devKit())({ eventType: 'attr_set', eventData: { changes, writer: { type: 'workflow' } } });
  },
  event_limit: async () => {
    const [api, key] = await withKey();
    const registered = await api.call('POST', '/v1/world/apps', { key, body: { baseUrl: application } });
    const { world } = api;
    const id = world.ids.runId(world.clock.now());
    const eventData = { deploymentId: registered.body['deploymentId'], workflowName: 'w', input: serialized };
    await api.call('POST', '/v1/world/events/create', {
      key,
      body: { runId: id, data: { eventType: 'run_created', eventData } },
    });
    const event = { type: 'DEVKIT', event: 'attr_set', specVersion: 5, data: { changes: [], writer: {} } } as const;
    const commit = {
      number: commitNo(2),
      firstEventId: eventId(2),
      events: Array.from({ length: maxEvents + eventMargin }, () => event),
      at: world.clock.now(),
      by: 'world',
      nonce: world.ids.nonce(),
    };
    const head = { projectId: projectId('acme'), environment: environment('test'), runId: id };
    await world.log.put(head, commit, after(world.clock.now(), days(60)));
    const data = { eventType: 'attr_set', eventData: { changes: [], writer: { type: 'workflow' } } };
    return api.call('POST', '/v1/world/events/create', { key, body: { runId: id, data } });
  },
  world_deployment_not_found: async () => {
    const [api, key] = await withKey();
    const data = { eventType: 'run_created', eventData: { deploymentId: 'unknown', workflowName: 'w', input: serialized } };
    const id = api.world.ids.runId(api.world.clock.now());
    return api.call('POST', '/v1/world/events/create', { key, body: { runId: id, data } });
  },
  unavailable: async () => {
    const [api, key] = await withKey(breaking(new Unavailable('the table'))());
    return api.call('GET', '/v1/workflows', { key });
  },
};

test('every error code is tested, except the one that only the gateway returns', () => {
  expect(Object.keys(makers).toSorted()).toEqual(errorCodes.filter((code) => code !== 'request_blocked').toSorted());
});

describe.each(Object.entries(makers))('%s', (code, make) => {
  test('is answered with its status and in the one form', async () => {
    const { status, body } = await make();
    expect(body).toMatchObject({ code });
    expect(status).toBe(errorCatalogue[errorCodes.find((known) => known === code) ?? 'internal'].status);
  });
});

test('the words that other programs wait for', async () => {
  expect((await makers.no_active_deployment()).body).toMatchObject({
    code: 'no_active_deployment',
    message: 'No active deployment. Activate a deployment before triggering runs.',
  });
  expect((await makers.missing_scope()).body).toMatchObject({ required: 'runs:read' });
  expect((await makers.workflow_exists()).body).toMatchObject({ recovery: expect.stringContaining('/versions') });
});

test('a response has headers for the next action', async () => {
  // API Gateway would rename it.
  expect((await makers.unauthorized()).headers).not.toHaveProperty('www-authenticate');
  expect((await makers.unavailable()).headers).toMatchObject({ 'retry-after': '2' });
  expect((await makers.method_not_allowed()).headers).toMatchObject({ allow: 'POST, GET' });
  expect(Number((await makers.rate_limited()).headers['retry-after'])).toBeGreaterThan(0);
});

test('an internal error is logged and not shown', async () => {
  const [api, key] = await withKey(breaking(new Error('a secret of ours'))());
  const { body } = await api.call('GET', '/v1/workflows', { key });
  expect(JSON.stringify(body)).not.toContain('secret');
  expect(api.logs).toContainEqual(expect.objectContaining({ level: 'error' }));
});

test('errors have JSON pointers into body, query and headers', async () => {
  const [api, key] = await withKey();
  const broken = { name: 'flow', nodes: [{ id: 'a b', type: 'start', extra: 1 }], edges: [{ source: 'a' }], colour: 'red' };
  const { body } = await api.call('POST', '/v1/workflows', { key, body: broken });
  expect(body['errors']).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ pointer: '/nodes/0/id' }),
      expect.objectContaining({ pointer: '/nodes/0/extra', code: 'unknown_key' }),
      expect.objectContaining({ pointer: '/edges/0/target' }),
      expect.objectContaining({ pointer: '/colour', code: 'unknown_key' }),
    ]),
  );
  const listed = await api.call('GET', '/v1/runs', { key, query: { limit: '0', colour: 'red' } });
  expect(listed.body['errors']).toMatchObject([{ pointer: 'query/limit' }, { pointer: 'query/colour' }]);
  const keyed = await api.call('POST', '/v1/runs', start({ workflowName: 'flow' }, key, 'é'));
  expect(keyed.body['errors']).toMatchObject([{ pointer: 'header/idempotency-key' }]);
});

test.each([
  ['', 'body_missing'],
  ['{"name":', 'not_json'],
  ['{"a":1e999}', 'not_finite'],
  ['{"a":"\\ud800"}', 'not_unicode'],
  ['{"a":{"__proto__":{}}}', 'key_refused'],
  ['['.repeat(200) + ']'.repeat(200), 'too_deep'],
])('a body that cannot be kept is refused: %s', async (text, code) => {
  const [api, key] = await withKey();
  const { status, body } = await api.call('POST', '/v1/workflows', { key, text });
  expect(status).toBe(400);
  expect(body['errors']).toMatchObject([{ code }]);
});

test('a definition far beyond the limits is refused by name', async () => {
  const [api, key] = await withKey();
  const nodes = Array.from({ length: 5_000 }, (_, index) => ({ id: `n${index}`, type: 'end' }));
  const edges = Array.from({ length: 4_999 }, (_, index) => ({ source: `n${index}`, target: `n${index + 1}` }));
  const { body } = await api.call('POST', '/v1/workflows', create(key, { nodes, edges }));
  expect(body['errors']).toMatchObject([{ code: 'definition_too_large', pointer: '/nodes' }]);
});

test('a definition that would not fit its item is refused by name', async () => {
  const [api, key] = await withKey();
  let seed = 1;
  const noise = (): string => ((seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647).toString(36).slice(2);
  const code = `return ${JSON.stringify(Array.from({ length: 80_000 }, noise).join(''))};`;
  const graph = {
    ...openGraph,
    nodes: openGraph.nodes.map((node) =>
      node.id === 'work' ? { ...node, label: 'x', config: { code: 'return 1;', notes: code } } : node,
    ),
  };
  const { body } = await api.call('POST', '/v1/workflows', create(key, graph));
  expect(body['errors']).toContainEqual(expect.objectContaining({ code: 'definition_too_large', pointer: '' }));
});

test('every route that an advice names is one of the table', () => {
  const known: readonly string[] = routes.map(({ method, path }) => `${method} ${path}`);
  const advice = errorCodes.map((code) => JSON.stringify(errorCatalogue[code]));
  const named = advice.flatMap((text) => text.match(/\b(?:GET|POST|DELETE) \/v1\/[^\s"\\]*[^\s"\\.,:]/g) ?? []);
  expect(named.length).toBeGreaterThan(10);
  expect(named.filter((one) => !known.includes(one))).toEqual([]);
});
