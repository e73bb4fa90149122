/** Watching over sockets on the embedded cloud: the gateway's wire, the functions, the queue, the posts, each with its own role. */
import { connect } from 'node:net';
import { randomBytes } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { speakerIn } from '../../bench/speaker.ts';
import { StepwellClient } from '../../lib/client/index.ts';
import { type CloudHere, startCloudHere } from './cloud-here.ts';
import { type Frame, type SocketClient, openClient } from './socket-client.ts';

let here: CloudHere;
let client: StepwellClient;
let url: string;
beforeAll(async () => {
  here = await startCloudHere();
  url = here.cloud.socketUrl ?? '';
  client = new StepwellClient({ baseUrl: here.url, apiKey: here.apiKey });
  await here.call('POST', '/v1/lenses', { name: 'tell', template: 'Tell of [[what]]' });
  await client.createWorkflow({
    name: 'told',
    nodes: [
      { id: 'start', type: 'start' },
      { id: 'ask', type: 'lens', config: { lens: 'tell', inputs: { what: '{{ctx.input.what}}' }, outputVariable: 'said' } },
      { id: 'end', type: 'end', config: { outputParameters: [{ name: 'said', sourceVariable: '{{ctx.said}}' }] } },
    ],
    edges: [
      { source: 'start', target: 'ask' },
      { source: 'ask', target: 'end' },
    ],
  });
});
afterAll(() => here.stop());

const runWith = async (what: string, options: object = {}): Promise<string> =>
  (await client.trigger({ workflowName: 'told', input: { what }, ...options })).runId;
/** It is not to be taken before the test has ended. */
const later = (): Promise<string> => runWith('later', { availableAt: new Date(Date.now() + 3_600_000).toISOString() });

const updates = (frames: readonly Frame[]) =>
  frames.flatMap(({ type, payload }) =>
    type === 'workflow_node_update'
      ? [`${String(payload?.['nodeID'])} ${String(payload?.['status'])}`]
      : type === 'workflow_status_update'
        ? [`run ${String(payload?.['status'])}`]
        : [],
  );
const isEnd = ({ type, payload }: Frame): boolean => type === 'workflow_status_update' && payload?.['status'] === 'completed';

test('a run is watched to its end: each node, each delta and the run, in order', async () => {
  const runId = await runWith('a long walk');
  const socket = await openClient(url, here.apiKey);
  socket.say({ action: 'join', runId });
  await socket.until(({ type }) => type === 'left');
  expect(socket.frames[0]).toEqual({ type: 'joined', runId, after: 0 });
  console.log(JSON.stringify(socket.frames, null, 1));
  expect(updates(socket.frames)).toEqual([]);
  await socket.close();
});
void [connect, randomBytes, wait, describe, z, speakerIn, later, isEnd];
export type { SocketClient };
