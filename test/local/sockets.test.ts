/** The embedded cloud's WebSocket API: routes, limits, and posts of functions to connections. */
import { createServer, request as open } from 'node:http';
import { once } from 'node:events';
import { ApiGatewayManagementApiClient, PostToConnectionCommand } from '@aws-sdk/client-apigatewaymanagementapi';
import { afterEach, describe, expect, test } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { executeApi } from '../../lib/local/aws/execute-api.ts';
import { defaultAsyncInvokeConfig } from '../../lib/local/lambda/async-invoke.ts';
import type { LambdaFunction } from '../../lib/local/lambda/function.ts';
import { createConnections, newConnectionId } from '../../lib/local/sockets/connections.ts';
import { FrameLengths } from '../../lib/local/sockets/frames.ts';
import { socketLimits } from '../../lib/local/limits.ts';
import { readSocketRoutes } from '../../lib/local/sockets/socket-routes.ts';
import { openSocketServer } from '../../lib/local/sockets/socket-server.ts';
import { readTemplate } from '../../lib/local/template/template.ts';
import { loadAssembly } from '../../lib/local/template/assembly.ts';
import { stacksWith } from '../infra/synthesized.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

/** Two ends of one socket. */
async function pair() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  ends.push(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const accepted = new Promise<WebSocket>((resolve) => server.once('connection', resolve));
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  ends.push(() => client.terminate());
  return { client, socket: await accepted };
}

describe('limits', () => {
  test('the lengths of frames are read from chunks of any size', () => {
    const frame = (bytes: number, isMasked: boolean): Buffer => {
      const mask = isMasked ? 0x80 : 0;
      const long = Buffer.alloc(8);
      long.writeBigUInt64BE(BigInt(bytes));
      const length =
        bytes < 126 ? [mask | bytes] : bytes < 65_536 ? [mask | 126, ...long.subarray(6)] : [mask | 127, ...long.subarray(0)];
      // A frame's payload may look like a frame header.
      return Buffer.concat([Buffer.from([0x81, ...length]), Buffer.alloc((isMasked ? 4 : 0) + bytes, 0x81)]);
    };
    const sizes = [0, 1, 125, 126, 127, 300, 65_535, 65_536, 2, 0];
    for (const isMasked of [true, false]) {
      const stream = Buffer.concat(sizes.map((bytes) => frame(bytes, isMasked)));
      for (const step of [1, 2, 3, 7, 1_000, stream.length]) {
        const lengths = new FrameLengths();
        const read: number[] = [];
        for (let at = 0; at < stream.length; at += step) read.push(...lengths.read(stream.subarray(at, at + step)));
        expect(read, `${step} bytes at a time`).toEqual(sizes);
      }
    }
  });

  test.each([
    ['that is idle', { idleMs: 60, connectionMs: 60_000 }],
    ['that exceeds the maximum duration', { idleMs: 60_000, connectionMs: 60 }],
  ])('a socket %s is closed', async (_what, limits) => {
    const connections = createConnections(limits);
    const { client, socket } = await pair();
    connections.add('a', socket);
    const [code] = await once(client, 'close');
    expect(code).toBe(1_001);
    await expect.poll(() => connections.find('a')).toBeUndefined();
    expect(await connections.send('a', '{}')).toBe(false);
  });

  test('traffic keeps a socket open', async () => {
    const connections = createConnections({ idleMs: 150, connectionMs: 60_000 });
    const { client, socket } = await pair();
    connections.add('a', socket);
    const received: string[] = [];
    client.on('message', (data: Buffer) => void received.push(data.toString('utf8')));
    for (let count = 0; count < 6; count += 1) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      expect(await connections.send('a', `${count}`)).toBe(true);
    }
    await expect.poll(() => received).toEqual(['0', '1', '2', '3', '4', '5']);
    expect(connections.find('a')).toBeDefined();
  });

  test('connection ids are unique and in base64 with padding', () => {
    const ids = Array.from({ length: 100 }, newConnectionId);
    expect(new Set(ids).size).toBe(100);
    for (const id of ids) expect(id).toMatch(/^[A-Za-z0-9+/]{15}=$/);
  });
});

describe('posts of functions to connections', () => {
  const request = (method: string, path: string, body = '') => ({
    method,
    path,
    query: new URLSearchParams(),
    url: path,
    headers: {},
    body: Buffer.from(body),
  });
  const place = { apiId: 'Stack-Api', stage: 'live' };

  test('a post needs the permission for its connection, under its method and stage', () => {
    const service = executeApi(createConnections(), place);
    for (const method of ['POST', 'DELETE', 'GET']) {
      expect(service.parse(request(method, '/live/@connections/a%2Bb%3D'))).toMatchObject({
        requiredPermissions: [
          {
            action: 'execute-api:ManageConnections',
            resource: `arn:aws:execute-api:us-east-1:000000000000:Stack-Api/live/${method}/@connections/a+b=`,
          },
        ],
      });
    }
    expect(service.parse(request('POST', '/prod/@connections/a'))).toHaveProperty('code');
    expect(service.parse(request('PUT', '/live/@connections/a'))).toHaveProperty('code');
  });

  test('a connection accepts posts, descriptions and a close; then the response is 410', async () => {
    const connections = createConnections();
    const service = executeApi(connections, place);
    const ask = async (method: string, body?: string) => {
      const given = request(method, '/live/@connections/a', body);
      const operation = service.parse(given);
      if ('code' in operation) throw new Error(operation.message);
      return (await service.handle(given, operation)).status;
    };
    expect([await ask('POST', '{}'), await ask('GET'), await ask('DELETE')]).toEqual([410, 410, 410]);
    const { client, socket } = await pair();
    connections.add('a', socket);
    const message = once(client, 'message');
    expect(await ask('POST', '{"a":1}')).toBe(200);
    expect(String((await message)[0])).toBe('{"a":1}');
    expect(await ask('POST', 'x'.repeat(socketLimits.messageBytes + 1))).toBe(413);
    expect(await ask('GET')).toBe(200);
    const closed = once(client, 'close');
    expect(await ask('DELETE')).toBe(204);
    await closed;
    await expect.poll(() => ask('POST', '{}')).toBe(410);
  });

  test('the SDK recognises a refusal as API Gateway’s', async () => {
    const server = createServer((_request, response) => {
      const { status, headers, body } = executeApi(createConnections(), place).toErrorResponse({
        code: 'AccessDeniedException',
        message: 'no',
        status: 400,
      });
      response.writeHead(status, headers).end(body);
    }).listen(0, '127.0.0.1');
    ends.push(() => server.close());
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const client = new ApiGatewayManagementApiClient({
      endpoint: `http://127.0.0.1:${port}/live`,
      region: 'us-east-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
      maxAttempts: 1,
    });
    await expect(client.send(new PostToConnectionCommand({ ConnectionId: 'a', Data: Buffer.from('{}') }))).rejects.toMatchObject({
      name: 'AccessDeniedException',
      $metadata: { httpStatusCode: 403 },
    });
  });
});

describe('the gateway', () => {
  const template = () => {
    const { app } = stacksWith();
    return readTemplate(loadAssembly(app.synth().directory), 'http://127.0.0.1:1', 'ws://127.0.0.1:2');
  };
  /** A function with a configured response to each event. */
  const functionThat = (answer: (event: { requestContext: { eventType: string } }) => unknown): LambdaFunction => ({
    name: 'sockets',
    arn: 'arn',
    concurrency: 1,
    timeoutMs: 1_000,
    asyncInvoke: defaultAsyncInvokeConfig,
    keepLoaded: () => undefined,
    stop: async () => undefined,
    recursionError: () => undefined,
    invoke: async (event) => ({ kind: 'returned', payload: JSON.stringify(answer(JSON.parse(event))) }),
  });
  const opened = async (answer: (event: { requestContext: { eventType: string }; body?: string }) => unknown) => {
    const routes = readSocketRoutes(template());
    if (routes === undefined) throw new Error('the template has no sockets');
    const server = await openSocketServer((_request, response) => void response.writeHead(403).end(), 0);
    ends.push(() => server.close());
    server.mount({
      routes,
      find: () => functionThat(answer),
      origins: { ports: [], configuredOrigins: [] },
      warn: (line) => expect(line).toBe(''),
    });
    return `${server.url}/${routes.stage}`;
  };
  const connected = async (url: string, headers = {}): Promise<WebSocket> => {
    const socket = new WebSocket(url, { headers });
    ends.push(() => socket.terminate());
    await once(socket, 'open');
    return socket;
  };

  test.each(['//', 'http://['])('a handshake at the URL %j is refused', async (path) => {
    const { port } = new URL(await opened(() => ({ statusCode: 200 })));
    const headers = { connection: 'Upgrade', upgrade: 'websocket' };
    const outgoing = open({ host: '127.0.0.1', port, path, headers });
    outgoing.end();
    const [response] = await once(outgoing, 'response');
    expect(response.statusCode).toBe(403);
  });

  test('the template’s routes send each event to one function, and only messages get responses', () => {
    const routes = readSocketRoutes(template());
    expect(routes?.stage).toBe('live');
    expect(['$connect', '$disconnect', '$default', 'join'].map((key) => routes?.find(key)?.sendsResponse)).toEqual([
      false,
      false,
      true,
      true,
    ]);
    expect(routes?.find('join')?.functionArn).toMatch(/function:.*SocketsFunction/);
    const variables = template()
      .of('AWS::Lambda::Function')
      .map(({ properties }) => JSON.stringify(properties['Environment']));
    expect(variables.filter((text) => text.includes('"STEPWELL_SOCKETS_URL":"ws://127.0.0.1:2/live"'))).toHaveLength(1);
  });

  test('a handshake that the function refuses gets its status; another path and a foreign host are refused too', async () => {
    const url = await opened(() => ({ statusCode: 401 }));
    const refused = (address: string, headers = {}) =>
      new Promise<number | undefined>((resolve) => {
        const socket = new WebSocket(address, { headers });
        socket.on('unexpected-response', (_request, { statusCode }) => resolve(statusCode));
        socket.on('error', () => undefined);
        ends.push(() => socket.terminate());
      });
    expect(await refused(url)).toBe(401);
    expect(await refused(url.replace('live', 'prod'))).toBe(403);
    expect(await refused(url, { host: 'evil.example.com' })).toBe(403);
  });

  test('the function gets events of connect, message and disconnect, with one id and without a forged HTTPS header', async () => {
    const events: { requestContext: { eventType: string; connectionId?: string }; headers?: object; body?: string }[] = [];
    const url = await opened((event) => {
      events.push(event);
      return { statusCode: 200, ...(event.body === undefined ? {} : { body: `heard ${event.body}` }) };
    });
    const socket = await connected(`${url}?ticket=st_1`, { 'x-forwarded-proto': 'https' });
    const message = once(socket, 'message');
    socket.send('{"action":"ping"}');
    expect(String((await message)[0])).toBe('heard {"action":"ping"}');
    socket.close();
    await expect
      .poll(() => events.map(({ requestContext }) => requestContext.eventType))
      .toEqual(['CONNECT', 'MESSAGE', 'DISCONNECT']);
    expect(new Set(events.map(({ requestContext }) => requestContext.connectionId)).size).toBe(1);
    expect(events[0]).toMatchObject({ queryStringParameters: { ticket: 'st_1' }, headers: { 'X-Forwarded-Proto': 'http' } });
    expect(events[0]?.headers).not.toHaveProperty('x-forwarded-proto');
  });

  test('a message above the limit closes the socket', async () => {
    const url = await opened(() => ({ statusCode: 200 }));
    const socket = await connected(url);
    const closed = once(socket, 'close');
    socket.send('x'.repeat(socketLimits.messageBytes + 1));
    expect((await closed)[0]).toBe(1_009);
  });

  test('a frame above the frame limit closes the socket without an event; the same message in two frames is accepted', async () => {
    const bodies: number[] = [];
    const url = await opened(({ body }) => {
      if (body !== undefined) bodies.push(body.length);
      return { statusCode: 200, body: 'heard' };
    });
    const { frameBytes } = socketLimits;
    const socket = await connected(url);
    for (const [first, second] of [
      [frameBytes, undefined],
      [frameBytes, frameBytes],
      [70, 1],
    ]) {
      const answered = once(socket, 'message');
      socket.send('x'.repeat(first ?? 0), { fin: second === undefined });
      if (second !== undefined) socket.send('y'.repeat(second), { fin: true });
      await answered;
    }
    expect(bodies).toEqual([frameBytes, 2 * frameBytes, 71]);
    const closed = once(socket, 'close');
    socket.send('x'.repeat(frameBytes + 1));
    expect((await closed)[0]).toBe(1_009);
    expect(bodies).toHaveLength(3);
  });

  test('a request that opens no socket goes to the AWS gateway', async () => {
    const url = await opened(() => ({ statusCode: 200 }));
    expect((await fetch(url.replace('ws:', 'http:'), { method: 'POST' })).status).toBe(403);
  });
});
