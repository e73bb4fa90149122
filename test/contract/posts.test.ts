/** Requests to API Gateway's management API, with a fake gateway. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiGatewayManagementApiClient } from '@aws-sdk/client-apigatewaymanagementapi';
import { GatewayPosts, postsClient } from '../../lib/aws/posts.ts';
import { type Answer, type Recorded, type Recorder, startRecorder } from './emulators/recorder.ts';
import { testCredentials } from './emulators/dynamo.ts';
import { freshConnection, postsSuite } from './posts.suite.ts';

const gone = new Set<string>();
const blocked = new Set<string>();
const taken: { to: string; text: string }[] = [];

const idIn = ({ path }: Recorded): string => decodeURIComponent(path.split('/@connections/')[1] ?? '');
const answer = (request: Recorded): Answer | 'hang up' => {
  const id = idIn(request);
  if (blocked.has(id)) return 'hang up';
  if (gone.has(id)) return { status: 410, headers: { 'x-amzn-errortype': 'GoneException' }, body: {} };
  if (request.method === 'DELETE') gone.add(id);
  else taken.push({ to: id, text: request.body });
  return { status: 200, body: {} };
};

let recorder: Recorder;
beforeAll(async () => void (recorder = await startRecorder(answer)));
afterAll(() => recorder.close());

const posts = () =>
  new GatewayPosts(
    new ApiGatewayManagementApiClient({
      region: 'eu-central-1',
      credentials: testCredentials,
      maxAttempts: 1,
      endpoint: `${recorder.endpoint}/live`,
    }),
  );

postsSuite({
  name: 'API Gateway',
  open: async () => ({
    port: { posts: posts(), taken: () => taken, disconnect: (id) => void gone.add(id), block: (id) => void blocked.add(id) },
    close: async () => {},
  }),
});

test('a post has the connection in its path and is signed for the gateway', async () => {
  const id = freshConnection();
  await posts().post(id, '{}');
  const last = recorder.requests.at(-1);
  expect([last?.method, last?.path]).toEqual(['POST', `/live/@connections/${encodeURIComponent(id)}`]);
  expect(last?.headers['authorization']).toMatch(/\/eu-central-1\/execute-api\/aws4_request/);
});

test('posts go to the sockets’ URL over HTTP, with one attempt each', async () => {
  const client = postsClient('wss://abc.execute-api.eu-central-1.amazonaws.com/live');
  const endpoint = await client.config.endpoint?.();
  expect([endpoint?.protocol, endpoint?.hostname, endpoint?.path]).toEqual([
    'https:',
    'abc.execute-api.eu-central-1.amazonaws.com',
    '/live',
  ]);
  expect(await client.config.maxAttempts()).toBe(1);
});

test('another error of the gateway is rethrown', async () => {
  const refusing = await startRecorder(() => ({ status: 403, headers: { 'x-amzn-errortype': 'ForbiddenException' }, body: {} }));
  const client = new ApiGatewayManagementApiClient({
    region: 'eu-central-1',
    credentials: testCredentials,
    maxAttempts: 1,
    endpoint: `${refusing.endpoint}/live`,
  });
  await expect(new GatewayPosts(client).post(freshConnection(), '{}')).rejects.toMatchObject({ name: 'ForbiddenException' });
  await refusing.close();
});
