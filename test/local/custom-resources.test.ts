/** Custom resources of the embedded cloud: invoked as by CloudFormation, and only after a change. */
import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { deployCustomResources } from '../../lib/local/deploy/custom-resources.ts';
import { defaultAsyncInvokeConfig } from '../../lib/local/lambda/async-invoke.ts';
import type { LambdaFunction } from '../../lib/local/lambda/function.ts';
import { freshFolder, templateOf } from './stacks.ts';

const eventShape = z.looseObject({
  RequestType: z.string(),
  ResponseURL: z.url(),
  StackId: z.string().startsWith('arn:aws:cloudformation:'),
  RequestId: z.string(),
  LogicalResourceId: z.string(),
  ResourceProperties: z.looseObject({}),
  OldResourceProperties: z.looseObject({}).exactOptional(),
  PhysicalResourceId: z.string().exactOptional(),
});
type Event = z.output<typeof eventShape>;

const folder = (): string => {
  const directory = freshFolder();
  mkdirSync(join(directory, 'state'));
  return directory;
};

const put = (url: string, body: object): Promise<Response> =>
  fetch(url, { method: 'PUT', body: Buffer.from(JSON.stringify(body)) });

/** A cloud with one function, which sends its own response. */
const cloud = (answer: (event: Event) => Promise<unknown>, directory = folder()) => {
  const events: Event[] = [];
  const target: LambdaFunction = {
    name: 'keeper',
    arn: 'arn:keeper',
    concurrency: 1,
    timeoutMs: 3_000,
    asyncInvoke: defaultAsyncInvokeConfig,
    keepLoaded: () => undefined,
    recursionError: () => undefined,
    stop: async () => undefined,
    invoke: async (text) => {
      const event = eventShape.parse(JSON.parse(text));
      events.push(event);
      await answer(event);
      return { kind: 'returned', payload: 'null' };
    },
  };
  const deploy = (properties: object, type = 'Custom::Keys') =>
    deployCustomResources({
      template: templateOf({ Keys: { Type: type, Properties: { ServiceToken: 'arn:keeper', ...properties } } }),
      directory,
      find: (arn) => (arn === 'arn:keeper' ? target : undefined),
    });
  return { events, deploy, directory };
};
const success = (event: Event) => put(event.ResponseURL, { Status: 'SUCCESS', PhysicalResourceId: 'keys' });

describe('a custom resource', () => {
  test('is created once, and updated with its old properties when it changes', async () => {
    const { events, deploy, directory } = cloud(success);
    for (const list of ['a', 'a', 'b', 'b']) await deploy({ List: list });
    expect(events).toMatchObject([
      { RequestType: 'Create', LogicalResourceId: 'Keys', ResourceProperties: { List: 'a', ServiceToken: 'arn:keeper' } },
      {
        RequestType: 'Update',
        ResourceProperties: { List: 'b' },
        OldResourceProperties: { List: 'a' },
        PhysicalResourceId: 'keys',
      },
    ]);
    expect(statSync(join(directory, 'state', 'custom-resources.json')).mode & 0o777).toBe(0o600);
  });

  test('is refused when its event exceeds Lambda’s asynchronous limit', async () => {
    const { events, deploy } = cloud(success);
    await expect(deploy({ List: 'x'.repeat(1_048_576) })).rejects.toThrow('Keys: its event has more than 1048576 bytes');
    expect(events).toEqual([]);
  });

  test('may have CloudFormation’s generic type', async () => {
    const { events, deploy } = cloud(success);
    await deploy({}, 'AWS::CloudFormation::CustomResource');
    expect(events).toHaveLength(1);
  });

  test('that fails stops the start with its reason, and is invoked again at the next start', async () => {
    let status = 'FAILED';
    const { events, deploy } = cloud((event) =>
      put(event.ResponseURL, { Status: status, Reason: 'the owner’s mistake', PhysicalResourceId: 'keys' }),
    );
    await expect(deploy({})).rejects.toThrow('Keys: the owner’s mistake');
    status = 'SUCCESS';
    await deploy({});
    expect(events.map(({ RequestType }) => RequestType)).toEqual(['Create', 'Create']);
  });

  test('accepts a response only at its own URL', async () => {
    const statuses: number[] = [];
    const { deploy } = cloud(async (event) => {
      const { origin } = new URL(event.ResponseURL);
      const body = { Status: 'FAILED', PhysicalResourceId: 'x' };
      statuses.push((await put(`${origin}/guess`, body)).status, (await fetch(event.ResponseURL)).status);
      statuses.push((await success(event)).status);
    });
    await deploy({});
    expect(statuses).toEqual([403, 403, 200]);
  });

  test('without its function is refused', async () => {
    const { deploy } = cloud(success);
    await expect(deploy({ ServiceToken: 'arn:another' })).rejects.toThrow(
      'no function of the template has the ARN of its ServiceToken',
    );
  });
});
