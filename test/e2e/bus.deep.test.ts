/** Events on the bus of the embedded cloud, sent by functions with their own permissions. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { busEvents } from '../../lib/codec/bus-events.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { chain } from './bad-workflows.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

let cloud: InProcessCloud;
/** without settings */
let usual: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud({ 'stepwell:runEvents': 'all' });
  usual = await startInProcessCloud();
});
afterAll(async () => {
  await Promise.all([cloud.stop(), usual.stop()]);
});

const toldOf = (type: string, { cloud: of } = cloud) =>
  of.busEvents().flatMap(({ detailType, detail }) => (detailType === type ? [z.looseObject({}).parse(detail)] : []));

const script = (id: string) => ({ id, type: 'javascript', config: { code: 'return 1', outputVariable: id } });

// Two nodes: a run that starts and ends in one commit sends only the event of its end.
test('the start and the end of a run, with the setting runEvents: all', async () => {
  expect((await cloud.call('POST', '/v1/workflows', chain('flow', ['a', 'b'].map(script)))).status).toBe(201);
  const started = await cloud.call('POST', '/v1/runs', { workflowName: 'flow', input: {} }, { 'idempotency-key': 'one' });
  expect(started.status).toBe(202);
  await expect
    .poll(() => toldOf('Run Status Change').map(({ status }) => status), { timeout: 30_000 })
    .toEqual(['running', 'completed']);
});

test('without the setting, the failure of a run and no other status', async () => {
  const throwing = { id: 'a', type: 'javascript', config: { code: 'throw new Error("broken")', outputVariable: 'a' } };
  for (const flow of [chain('good', ['a', 'b'].map(script)), chain('bad', [throwing, script('b')])])
    expect((await usual.call('POST', '/v1/workflows', flow)).status).toBe(201);
  for (const workflowName of ['good', 'bad', 'good']) {
    const { body } = await usual.call(
      'POST',
      '/v1/runs?wait=20',
      { workflowName, input: {} },
      { 'idempotency-key': randomUUID() },
    );
    expect(body).toMatchObject({ status: workflowName === 'bad' ? 'failed' : 'completed' });
  }
  await expect
    .poll(() => toldOf('Run Status Change', usual).map(({ status }) => status), { timeout: 30_000 })
    .toEqual(['failed']);
});

test('the creation, verification and removal of a deployment', async () => {
  const { manifest, archive } = await packedDeployment('dep_1');
  const made = z.looseObject({ upload: z.looseObject({ url: z.string(), headers: z.record(z.string(), z.string()) }) });
  const created = await cloud.call('POST', '/v1/deployments', manifest);
  expect(created.status, JSON.stringify(created.body)).toBe(201);
  const { upload } = made.parse(created.body);
  expect((await fetch(upload.url, { method: 'PUT', headers: upload.headers, body: new Uint8Array(archive) })).status).toBe(200);
  expect((await cloud.call('POST', '/v1/deployments/dep_1/verify')).status).toBe(200);
  expect((await cloud.call('DELETE', '/v1/deployments/dep_1')).status).toBe(200);
  expect(toldOf('Deployment Status Change').map(({ change }) => change)).toEqual(['created', 'verified', 'removed']);
});

test('each event matches its schema', () => {
  for (const { source, detailType, detail } of [...cloud.cloud.busEvents(), ...usual.cloud.busEvents()]) {
    const event = busEvents.find((one) => one.source === source && one.detailType === detailType);
    expect(event?.detail.safeParse(detail).error, JSON.stringify(detail)).toBeUndefined();
    expect(event, detailType).toBeDefined();
  }
});
