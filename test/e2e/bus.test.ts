/** Events on the bus of the embedded cloud, sent by functions with their own permissions. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { busEvents } from '../../lib/codec/bus-events.ts';
import { packedDeployment } from '../artifact/packed.ts';
import { chain } from './bad-workflows.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

let cloud: InProcessCloud;
beforeAll(async () => {
  cloud = await startInProcessCloud({ 'stepwell:startedEvents': true });
});
afterAll(() => cloud.stop());

const toldOf = (type: string) =>
  cloud.cloud.busEvents().flatMap(({ detailType, detail }) => (detailType === type ? [z.looseObject({}).parse(detail)] : []));

const script = (id: string) => ({ id, type: 'javascript', config: { code: 'return 1', outputVariable: id } });

// Two nodes: a run that starts and ends in one commit sends only the event of its end.
test('the start and the end of a run, where start events are enabled', async () => {
  expect((await cloud.call('POST', '/v1/workflows', chain('flow', ['a', 'b'].map(script)))).status).toBe(201);
  const started = await cloud.call('POST', '/v1/runs', { workflowName: 'flow', input: {} }, { 'idempotency-key': 'one' });
  expect(started.status).toBe(202);
  await expect
    .poll(() => toldOf('Run Status Change').map(({ status }) => status), { timeout: 30_000 })
    .toEqual(['running', 'completed']);
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
  for (const { source, detailType, detail } of cloud.cloud.busEvents()) {
    const event = busEvents.find((one) => one.source === source && one.detailType === detailType);
    expect(event?.detail.safeParse(detail).error, JSON.stringify(detail)).toBeUndefined();
    expect(event, detailType).toBeDefined();
  }
});
