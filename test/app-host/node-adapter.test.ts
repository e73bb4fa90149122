/** The responses on a Node server, and the application's own requests, which stay untouched. */
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Agent, type Server, createServer, request as send } from 'node:http';
import { json, text } from 'node:stream/consumers';
import { afterEach, expect, test } from 'vitest';
import * as z from 'zod';
import { application } from '../../examples/app-host.ts';
import { appHost, diagnosticsPath, nodeHandler } from '../../lib/app-host/index.ts';

const flow = '/.well-known/workflow/v1/flow';
const servers: Server[] = [];
afterEach(() => servers.splice(0).forEach((server) => server.close().closeAllConnections()));

const started = async (env: Record<string, string> = { WORKFLOW_EXECUTION_MODE: 'remote' }): Promise<string> => {
  const handle = nodeHandler(appHost({ env }));
  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing).then(async (isAnswered) => {
      if (!isAnswered) outgoing.end(`the application: ${incoming.method} ${incoming.url} ${await text(incoming)}`);
    });
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return `http://127.0.0.1:${z.object({ port: z.int() }).parse(server.address()).port}`;
};

const headers = { 'content-type': 'application/json', 'x-vqs-signature': 'abc' };

test('a callback is refused and counted', async () => {
  const url = await started();
  const answer = await fetch(url + flow, { method: 'POST', headers, body: '{"runId":"wrun_1"}' });
  expect([answer.status, await answer.json()]).toMatchObject([409, { code: 'remote_mode_active' }]);
  const report = await fetch(url + diagnosticsPath);
  expect([report.status, await report.json()]).toMatchObject([
    200,
    { lifetimeUnexpectedHits: 1, lastEvent: { bodyShapeMatched: true } },
  ]);
});

test('the application’s own requests reach it with their body', async () => {
  const url = await started({});
  const answer = await fetch(`${url}${flow}?a=1`, { method: 'POST', headers, body: 'x'.repeat(100_000) });
  expect(await answer.text()).toBe(`the application: POST ${flow}?a=1 ${'x'.repeat(100_000)}`);
  expect(await (await fetch(`${url}/`)).text()).toBe('the application: GET / ');
});

test.each([
  ['with a marker', headers],
  ['without one', { 'content-type': 'application/json' }],
])('a body of megabytes %s is not stored, and its connection stays usable', async (_what, sent) => {
  const url = await started();
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const first = send(url + flow, { method: 'POST', agent, headers: sent });
  first.end('x'.repeat(5_000_000));
  const [refused] = await once(first, 'response');
  const { socket } = first;
  expect(refused.statusCode).toBe(409);
  await text(refused);
  const second = send(`${url}/`, { agent });
  second.end();
  const [answer] = await once(second, 'response');
  expect(await text(answer)).toBe('the application: GET / ');
  expect(second.socket === socket).toBe(true);
  agent.destroy();
});

test('a caller that aborts its body does no harm', async () => {
  const url = await started();
  const broken = send(url + flow, { method: 'POST', headers: { ...headers, 'content-length': '1000' } });
  broken.on('error', () => undefined);
  await new Promise((resolve) => broken.write('{"run', resolve));
  broken.destroy();
  await expect.poll(async () => (await fetch(url + diagnosticsPath)).json()).toMatchObject({ lifetimeUnexpectedHits: 1 });
});

test.each(['TRACE', 'OPTIONS'])('%s of the diagnostics does not end the process', async (method) => {
  const url = await started();
  const asking = send(url + diagnosticsPath, { method });
  asking.end();
  const [answer] = await once(asking, 'response');
  expect(answer.statusCode).toBe(method === 'TRACE' ? 200 : 405);
});

test('as a middleware it calls next, and passes errors to it', async () => {
  const calls: unknown[] = [];
  const handle = nodeHandler({ matches: () => true, handle: () => Promise.reject(new Error('broken')) });
  const server = createServer((incoming, outgoing) => {
    void handle(incoming, outgoing, (error) => {
      calls.push(error);
      outgoing.end('{}');
    });
  });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const { port } = z.object({ port: z.int() }).parse(server.address());
  const asking = send({ port, path: '/' });
  asking.end();
  const [answer] = await once(asking, 'response');
  expect(await json(answer)).toEqual({});
  expect(calls).toMatchObject([{ message: 'broken' }]);
});

test('the example of docs/OWNERSHIP.md refuses a wrong start, and behaves as documented', async () => {
  const remote = { NODE_ENV: 'production', WORKFLOW_EXECUTION_MODE: 'remote' };
  const page = readFileSync(new URL('../../docs/OWNERSHIP.md', import.meta.url), 'utf8');
  expect(page).toContain(readFileSync(new URL('../../examples/app-host.ts', import.meta.url), 'utf8'));
  let said = '';
  try {
    application(remote);
  } catch (error) {
    said = String(error);
  }
  expect(said).toMatch(/^RemoteTargetGuardError: /);
  expect(page).toContain(said);
  const server = application({ ...remote, WORKFLOW_TARGET_WORLD: 'workflow-studio/world-remote' });
  servers.push(server.listen(0, '127.0.0.1'));
  await once(server, 'listening');
  const url = `http://127.0.0.1:${z.object({ port: z.int() }).parse(server.address()).port}`;
  expect((await fetch(url + flow, { method: 'POST' })).status).toBe(409);
  expect((await fetch(url + diagnosticsPath)).status).toBe(404);
  expect(await (await fetch(url)).text()).toBe('the application itself\n');
});
