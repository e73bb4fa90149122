import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { databasePortsOf } from '../../functions/worker/network-wiring.ts';
import { DataApi } from '../../lib/aws/data-api.ts';
import { environment, projectId } from '../../lib/engine/ids.ts';

const database = (name: string) => ({
  clusterArn: `arn:aws:rds:eu-west-1:111122223333:cluster:${name}`,
  secretArn: `arn:aws:secretsmanager:eu-west-1:111122223333:secret:${name}-AbCdEf`,
  database: name,
});
const told = { acme: { '*': { orders: database('all'), stock: database('stock') }, test: { orders: database('test') } } };

/** The control table, which has the version that the environment names. */
const table = createServer((request, response) => {
  void text(request).then((body) => {
    const { pk, sk } = keyShape.parse(JSON.parse(body)).Key;
    const isThere = pk.S === 'setting#databases' && sk.S === 'v1';
    response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' });
    response.end(JSON.stringify(isThere ? { Item: { pk, sk, v: { N: '1' }, text: { S: JSON.stringify(told) } } } : {}));
  });
});
const textShape = z.object({ S: z.string() });
const keyShape = z.object({ Key: z.object({ pk: textShape, sk: textShape }) });
beforeAll(async () => {
  await new Promise<void>((resolve) => table.listen(0, '127.0.0.1', resolve));
});
afterAll(() => void table.close());
beforeEach(() => {
  const { port } = z.object({ port: z.number() }).parse(table.address());
  vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${port}`);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'AKIDEXAMPLE');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('STEPWELL_CONTROL_TABLE', 'control');
  vi.stubEnv('STEPWELL_DATABASES', 'v1');
});
afterEach(() => void vi.unstubAllEnvs());
const of = (project: string, name: string) => ({ projectId: projectId(project), environment: environment(name) });

test('a name refers to the database of its project and environment only', async () => {
  const world = databasePortsOf();
  expect(await world.targetOf(of('acme', 'test'), 'orders')).toEqual(database('test'));
  expect(await world.targetOf(of('acme', 'production'), 'orders')).toEqual(database('all'));
  expect(await world.targetOf(of('acme', 'test'), 'stock')).toEqual(database('stock'));
  for (const name of ['other', 'constructor', '__proto__'])
    expect(await world.targetOf(of('acme', 'test'), name)).toBeUndefined();
  expect(await world.targetOf(of('rival', 'test'), 'orders')).toBeUndefined();
});

test('a Data API request is sent once, to the region of the cluster, even if it fails', async () => {
  const heard: string[] = [];
  const server = createServer((request, response) => {
    heard.push(`${request.url} ${request.headers.authorization}`);
    response.writeHead(503, { 'x-amzn-errortype': 'ServiceUnavailableError' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(server.address());
  vi.stubEnv('AWS_ENDPOINT_URL', `http://127.0.0.1:${port}`);
  const databases = await databasePortsOf().service();
  const answer = await databases.begin(database('orders'), AbortSignal.timeout(10_000));
  expect(answer).toEqual({ error: { kind: 'unreachable', name: 'ServiceUnavailableError' } });
  expect(heard).toEqual([expect.stringMatching(/^\/BeginTransaction .*\/eu-west-1\/rds-data\//)]);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('the service is loaded once, when it is asked for', async () => {
  const world = databasePortsOf();
  const first = await world.service();
  expect(first).toBeInstanceOf(DataApi);
  expect(await world.service()).toBe(first);
});
