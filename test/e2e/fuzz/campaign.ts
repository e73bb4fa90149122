/** Prepares an installation, sends it the given number of requests, and checks each response against the table of routes. */
import fc from 'fast-check';
import { ulid } from 'ulid';
import * as z from 'zod';
import { packedDeployment } from '../../artifact/packed.ts';
import { readDocument } from './document.ts';
import { type FuzzResponse, violationOf } from './check-response.ts';
import { type RequestBodies, type FuzzRequest, type ExistingIds, confirmsName, newLink, requestsOf } from './requests.ts';

/** A client of an installation. */
export interface FuzzTarget {
  readonly apiKey: string;
  send(request: FuzzRequest): Promise<FuzzResponse>;
}

export interface Report {
  /** each with its seed, its number, the problem and the request */
  readonly violations: readonly string[];
  /** the share of the requests with a 2xx response */
  readonly succeeded: number;
  /** operations without a 2xx response */
  readonly neverSucceeded: readonly string[];
}

const atOnce = 16;
/** The objects that requests refer to. Deleted objects are not created again, so there are enough of each kind. */
const pieces = 40;

const graph = (minutes?: number) => ({
  nodes: [
    { id: 'start', type: 'start' },
    ...(minutes === undefined ? [] : [{ id: 'sleep', type: 'delay', config: { delayMinutes: minutes } }]),
    { id: 'end', type: 'end' },
  ],
  edges: [
    { source: 'start', target: minutes === undefined ? 'end' : 'sleep' },
    ...(minutes === undefined ? [] : [{ source: 'sleep', target: 'end' }]),
  ],
});

const query = { kind: 'http', connection: 'https://orders.example.com/v1', request: { path: '/orders' } };

const made = z.looseObject({
  runId: z.string().optional(),
  keyId: z.string().optional(),
  embedId: z.string().optional(),
  cursor: z.string().nullish(),
});
const embedOf = (workflowName: string) => ({ workflowName, origins: ['https://shop.example'] });

const furnish = async (door: FuzzTarget): Promise<ExistingIds> => {
  let asked = 0;
  const request = async (method: string, target: string, body?: string | Uint8Array, contentType = 'application/json') => {
    const headers = [
      ['Authorization', `Bearer ${door.apiKey}`],
      ['Content-Type', contentType],
      ['Idempotency-Key', `furnish-${(asked += 1)}`],
      ['Sec-Fetch-Site', 'same-origin'],
    ] as const;
    const response = await door.send({ method, target, headers, body, operationId: '' });
    if (response.status >= 300) throw new Error(`${method} ${target}: ${response.status} ${response.text}`);
    return response;
  };
  const send = async (...given: Parameters<typeof request>) => made.parse(JSON.parse((await request(...given)).text));
  const numbers = Array.from({ length: pieces }, (_, at) => at);
  const names = numbers.map((at) => `flow-${at}`);
  // They have no schedules, so they can be deleted.
  const spare = numbers.slice(0, pieces / 4).map((at) => `spare-${at}`);
  const [runs, keys, deployments, cursors, schedules, embeds]: string[][] = [[], [], [], [], [], []];
  for (const at of numbers) {
    const name = names[at] ?? '';
    await send('POST', '/v1/workflows', JSON.stringify({ name, ...graph(at % 2 === 0 ? 60 : undefined) }));
    await send('POST', `/v1/workflows/${name}/draft`, JSON.stringify({ definition: graph(), revision: 0, basedOn: 1 }));
    runs?.push((await send('POST', '/v1/runs', JSON.stringify({ workflowName: name, input: { at } }))).runId ?? '');
    runs?.push((await send('POST', '/v1/workflows/test', JSON.stringify(graph(60)))).runId ?? '');
    await send('POST', '/v1/queries', JSON.stringify({ name, ...query }));
    const scheduleId = `every-${at}`;
    await send('POST', '/v1/schedules', JSON.stringify({ scheduleId, workflowName: name, rate: '7 days' }));
    schedules?.push(scheduleId);
    embeds?.push((await send('POST', '/v1/embeds', JSON.stringify(embedOf(name)))).embedId ?? '');
    keys?.push((await send('POST', '/v1/keys', JSON.stringify({ scopes: ['runs:read'] }))).keyId ?? '');
  }
  for (const name of spare) await send('POST', '/v1/workflows', JSON.stringify({ name, ...graph() }));
  for (const id of numbers.slice(0, pieces / 2).map((at) => `dep_${at}`)) {
    const { manifest, archive } = await packedDeployment(id, { workflows: ['shipped'] });
    const form = new FormData();
    form.append('manifest', JSON.stringify(manifest));
    form.append('artifact', new File([Buffer.from(archive)], 'artifact'));
    const request = new Request('http://127.0.0.1/', { method: 'POST', body: form });
    const body = Buffer.from(await request.arrayBuffer());
    await send('POST', '/v1/deployments', body, request.headers.get('content-type') ?? '');
    deployments?.push(id);
  }
  for (const id of ['dep_0', 'dep_1']) await send('POST', `/v1/deployments/${id}/activate`);
  const codeRuns: string[] = [];
  for (const availableAt of ['2027-06-01T00:00:00Z', '2027-07-01T00:00:00Z']) {
    const body = JSON.stringify({ workflowName: 'shipped', deploymentId: 'dep_1', availableAt });
    codeRuns.push((await send('POST', '/v1/runs', body)).runId ?? '');
  }
  const { app, runs: worldRuns } = await furnishWorld(send);
  const cookies: string[] = [];
  for (let session = 0; session < pieces; session += 1) {
    const { headers } = await request('POST', '/v1/sessions', JSON.stringify({ key: door.apiKey }));
    cookies.push(String(headers['set-cookie'] ?? headers['Set-Cookie']).split(';')[0] ?? '');
  }
  for (const list of ['runs', 'workflows', 'keys', 'audit', 'deployments']) {
    cursors?.push((await send('GET', `/v1/${list}?limit=2`)).cursor ?? '');
  }
  return {
    name: [...names, ...spare],
    workflowName: names,
    runId: runs ?? [],
    rerunOf: runs ?? [],
    keyId: keys ?? [],
    scheduleId: schedules ?? [],
    embedId: embeds ?? [],
    nodeId: ['start', 'sleep', 'end'],
    deploymentId: deployments ?? [],
    cursor: cursors ?? [],
    codeRun: codeRuns,
    worldRun: worldRuns,
    // Nothing is at its address, so a check of its health takes the whole time limit, and says so.
    'checkDeploymentHealth.deploymentId': [app, ...(deployments ?? [])],
    'getWorldRun.runId': worldRuns,
    'getWorldHookByToken.token': worldRuns.map(tokenOf),
    hookId: ['hook_1'],
    stepId: ['step_1'],
    'getWorldStep.runId': worldRuns,
    cookie: cookies,
    provider: ['git', 'jobs', 'paid'],
  };
};

const tokenOf = (runId: string): string => `token-${runId}`;
const application = { baseUrl: 'https://app.example.com' };
const bytes = { $bytes: 'ZGV2bFsxXQ==' };
const firstStep = { eventType: 'step_created', correlationId: 'step_1', eventData: { stepName: 'step//./a//b', input: bytes } };

const hookOf = (runId: string) => ({
  eventType: 'hook_created',
  correlationId: 'hook_1',
  eventData: { token: tokenOf(runId) },
});

/** Runs of the Workflow DevKit, each with a step and a hook. */
async function furnishWorld(
  send: (method: string, target: string, body: string) => Promise<object>,
): Promise<{ readonly app: string; readonly runs: readonly string[] }> {
  const app = z.object({ deploymentId: z.string() });
  const { deploymentId } = app.parse(await send('POST', '/v1/world/apps', JSON.stringify(application)));
  const eventData = { deploymentId, workflowName: 'workflow//./a//b', input: bytes };
  const runs = Array.from({ length: pieces / 4 }, () => `wrun_${ulid()}`);
  for (const runId of runs)
    for (const data of [{ eventType: 'run_created', specVersion: 5, eventData }, firstStep, hookOf(runId)])
      await send('POST', '/v1/world/events/create', JSON.stringify({ runId, data }));
  return { app: deploymentId, runs };
}

const worldBodies = (runIds: readonly string[]): RequestBodies => {
  const runId = fc.constantFrom(...runIds);
  const stream = { runId, name: fc.constantFrom('strm_one', 'strm_two') };
  const changes = fc.array(fc.record({ key: fc.constantFrom('a', 'b'), value: fc.constantFrom('x', 'y') }), { maxLength: 1 });
  const attributes = fc.record({
    eventType: fc.constant('attr_set'),
    eventData: fc.record({ changes, writer: fc.constant({ type: 'workflow' }) }),
  });
  return {
    registerWorldApp: fc.constant(application),
    createWorldEvent: fc.record({ runId, data: attributes }),
    createWorldEventBatch: fc.record({
      runId,
      // A batch takes no attributes.
      events: fc.constant([{ data: { eventType: 'step_started', correlationId: 'step_1' } }]),
    }),
    listWorldEvents: fc.record({ runId }),
    listWorldEventsByCorrelation: fc.record({ runId, correlationId: fc.constant('step_1') }),
    getWorldEvent: fc.record({ runId, eventId: fc.constant(`evnt_${'1'.padStart(26, '0')}`) }),
    listWorldSteps: fc.record({ runId }),
    writeWorldStream: fc.record({ ...stream, chunks: fc.array(fc.string(), { minLength: 1, maxLength: 3 }) }),
    closeWorldStream: fc.record(stream),
    resumeHook: fc.record({ token: runId.map(tokenOf), payload: fc.jsonValue() }),
  };
};

const bodiesFor = (known: ExistingIds, apiKey: string): RequestBodies => {
  const graphs = fc.constantFrom(graph(), graph(60));
  const names = fc.constantFrom(...(known['name'] ?? []));
  return {
    ...worldBodies(known['worldRun'] ?? []),
    createEmbed: names.map(embedOf),
    createSession: fc.constant({ key: apiKey }),
    raiseSession: fc.constant({ key: apiKey }),
    exchangeSessionLink: fc.constant({ link: newLink }),
    createWorkflow: fc.tuple(fc.uuid(), graphs).map(([id, one]) => ({ name: `made-${id}`, ...one })),
    publishVersion: graphs,
    saveDraft: fc.record({ definition: graphs, revision: fc.integer({ min: 0, max: 4 }), basedOn: fc.constantFrom(null, 1) }),
    validateWorkflow: graphs,
    testWorkflow: graphs,
    publishQueryVersion: fc.constant(query),
    createQuery: fc.uuid().map((id) => ({ name: `made-${id}`, ...query })),
    deleteWorkflow: fc.constant({ confirm: confirmsName }),
    createSchedule: fc.tuple(fc.uuid(), names).map(([id, workflowName]) => ({ scheduleId: id, workflowName, rate: '5 days' })),
    updateSchedule: fc.constantFrom({ rate: '3 days' }, { cron: '0 9 * * ? *', timeZone: 'Europe/Vienna' }, { overlap: 'allow' }),
    publishMessage: fc.record({
      queueName: fc.constantFrom('__wkf_step_mail', '__wkf_workflow_shipped'),
      message: fc.record({ runId: fc.constantFrom(...(known['codeRun'] ?? [])), more: fc.jsonValue() }),
    }),
    receiveWebhook: fc.oneof(
      fc.jsonValue(),
      fc.record({ order: fc.record({ id: fc.string() }), job: fc.record({ runId: fc.constantFrom(...(known['runId'] ?? [])) }) }),
    ),
    startRun: fc.record({ workflowName: names, input: fc.dictionary(fc.string(), fc.jsonValue()) }),
  };
};

/** @param seed repeats the same requests; their responses depend on the effects of earlier requests */
export const campaign = async (door: FuzzTarget, seed: number, count: number): Promise<Report> => {
  const known = await furnish(door);
  const described = await door.send({ method: 'GET', target: '/v1/openapi.json', headers: [], body: undefined, operationId: '' });
  const document = readDocument(JSON.parse(described.text));
  const madeAt = performance.now();
  const requests = fc.sample(requestsOf(document, known, bodiesFor(known, door.apiKey), door.apiKey), { seed, numRuns: count });

  const statuses = new Map<number, number>();
  const answeredWell = new Set<string>();
  const violations: string[] = [];
  const startedAt = performance.now();
  const making = ((startedAt - madeAt) / 1_000).toFixed(0);
  let next = 0;
  const sender = async (): Promise<void> => {
    for (let at = next++; at < requests.length; at = next++) {
      const planned = requests[at];
      if (planned === undefined) return;
      const request = await withNewLink(door, planned);
      const answer = await door.send(request);
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
      if (answer.status < 300) answeredWell.add(request.operationId);
      const fault = violationOf(request, answer);
      if (fault !== undefined)
        violations.push(`seed ${seed}, request ${at}: ${fault}\n${shown(request)}\n${answer.text.slice(0, 500)}`);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, sender));

  const well = [...statuses].reduce((sum, [status, times]) => sum + (status < 300 ? times : 0), 0);
  const succeeded = well / requests.length;
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(0);
  const byStatus = [...statuses].toSorted(([one], [other]) => one - other).map(([status, times]) => `${times} × ${status}`);
  console.log(
    `seed ${seed}: ${requests.length} requests (made in ${making} s) in ${seconds} s, ${(succeeded * 100).toFixed(0)} % of them 2xx: ${byStatus.join(', ')}`,
  );
  const neverSucceeded = document.operations.map(({ operationId }) => operationId).filter((id) => !answeredWell.has(id));
  return { violations, succeeded, neverSucceeded };
};

const linkShape = z.object({ link: z.string() });

async function withNewLink(door: FuzzTarget, request: FuzzRequest): Promise<FuzzRequest> {
  const { body } = request;
  if (typeof body !== 'string' || !body.includes(newLink)) return request;
  const headers = [['Authorization', `Bearer ${door.apiKey}`]] as const;
  const target = '/v1/sessions/links';
  const { text } = await door.send({ method: 'POST', target, headers, body: undefined, operationId: 'createSessionLink' });
  const { data } = linkShape.safeParse(JSON.parse(text));
  return { ...request, body: body.replaceAll(newLink, data?.link ?? '') };
}

/** The request without the key, shortened. */
const shown = ({ method, target, headers, body }: FuzzRequest): string =>
  JSON.stringify({
    method,
    target: target.slice(0, 300),
    headers: headers.slice(1),
    body: typeof body === 'string' ? body.slice(0, 500) : body && Buffer.from(body).toString('hex'),
  });
