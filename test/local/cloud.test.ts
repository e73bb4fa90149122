import { afterEach, describe, expect, test, vi } from 'vitest';
import { startCloud, type Cloud } from '../../lib/local/cloud.ts';
import { allow, assemblyOf, freshFolder, functionOf, restApi } from './stacks.ts';

/** Calls the services as a bundled handler does, with only the variables of Lambda. */
const aws = `
  import { createHash, createHmac } from 'node:crypto';
  const sha256 = (text) => createHash('sha256').update(text).digest('hex');
  const hmac = (key, text) => createHmac('sha256', key).update(text).digest();
  const authorization = (service, target, date, host, body) => {
    const scope = [date.slice(0, 8), 'us-east-1', service, 'aws4_request'];
    const canonical = ['POST', '/', '', 'host:' + host, 'x-amz-date:' + date, 'x-amz-target:' + target, '', 'host;x-amz-date;x-amz-target', sha256(body)].join('\\n');
    const key = scope.reduce(hmac, 'AWS4' + process.env.AWS_SECRET_ACCESS_KEY);
    const signature = hmac(key, ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\\n')).toString('hex');
    return 'AWS4-HMAC-SHA256 Credential=' + process.env.AWS_ACCESS_KEY_ID + '/' + scope.join('/') + ', SignedHeaders=host;x-amz-date;x-amz-target, Signature=' + signature;
  };
  const call = async (service, target, input) => {
    const body = JSON.stringify(input);
    const date = new Date().toISOString().replaceAll(/[-:]|\\.\\d+/g, '');
    const answer = await fetch(process.env.AWS_ENDPOINT_URL, { method: 'POST', body,
      headers: { authorization: authorization(service, target, date, new URL(process.env.AWS_ENDPOINT_URL).host, body), 'x-amz-target': target, 'x-amz-date': date, 'content-type': 'application/x-amz-json-1.0' } });
    const output = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(output.message), { name: output.__type });
    return output;
  };
  const ddb = (operation, input) => call('dynamodb', 'DynamoDB_20120810.' + operation, { TableName: process.env.TABLE, ...input });
`;

const sources = {
  api: `${aws}
    export const handler = async (event) => {
      const id = event.pathParameters?.id ?? event.requestContext.requestId;
      if (event.httpMethod === 'GET') {
        const { Item } = await ddb('GetItem', { Key: { pk: { S: id } }, ConsistentRead: true });
        return { statusCode: Item ? 200 : 404, headers: { 'x-one': 1, 'WWW-Authenticate': 'Bearer', 'Content-Length': '3' }, multiValueHeaders: { 'set-cookie': ['a', 'b'] }, body: Item?.state.S ?? '' };
      }
      if (event.body === 'throw') throw new Error('as requested');
      if (event.body === 'nonsense') return 'nonsense';
      if (event.body === 'slow') return new Promise(() => {});
      if (event.body === 'steal') { await call('dynamodb', 'DynamoDB_20120810.Scan', { TableName: process.env.TABLE }); }
      await ddb('PutItem', { Item: { pk: { S: id }, state: { S: 'pending' } } });
      await call('sqs', 'AmazonSQS.SendMessage', { QueueUrl: process.env.QUEUE, MessageBody: id, MessageGroupId: id });
      return { statusCode: 202, body: id };
    };`,
  worker: `${aws}
    export const handler = async ({ Records }) => {
      for (const { body } of Records) await ddb('PutItem', { Item: { pk: { S: body }, state: { S: 'done by ' + process.env.AWS_LAMBDA_FUNCTION_NAME } } });
      return { batchItemFailures: [] };
    };`,
  stream: `export const handler = awslambda.streamifyResponse(async (event, stream) => {
      const out = awslambda.HttpResponseStream.from(stream, { statusCode: 200, headers: { 'content-type': 'text/event-stream', 'www-authenticate': 'Bearer' } });
      for (const n of [1, 2, 3]) { out.write('data: ' + n + '\\n\\n'); await new Promise((r) => setTimeout(r, 5)); }
      if (event.queryStringParameters?.fail) throw new Error('midway');
      out.end();
    });`,
  tick: `${aws} export const handler = async (event) => { await ddb('PutItem', { Item: { pk: { S: 'tick' }, state: { S: event['detail-type'] } } }); };`,
};

const table = { 'Fn::GetAtt': ['Table', 'Arn'] };
const queue = { 'Fn::GetAtt': ['Queue', 'Arn'] };
const variables = { Environment: { Variables: { TABLE: { Ref: 'Table' }, QUEUE: { Ref: 'Queue' } } } };

const Resources = {
  Queue: { Type: 'AWS::SQS::Queue', Properties: { FifoQueue: true, ContentBasedDeduplication: true, VisibilityTimeout: 30 } },
  ...functionOf('api', 'api', [allow(['dynamodb:GetItem', 'dynamodb:PutItem'], table), allow('sqs:SendMessage', queue)], {
    ...variables,
    Timeout: 1,
  }),
  ...functionOf(
    'worker',
    'worker',
    [allow('dynamodb:PutItem', table), allow(['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'], queue)],
    variables,
  ),
  ...functionOf('stream', 'stream', []),
  ...functionOf('tick', 'tick', [allow('dynamodb:PutItem', table)], variables),
  Mapping: {
    Type: 'AWS::Lambda::EventSourceMapping',
    Properties: {
      EventSourceArn: queue,
      FunctionName: { Ref: 'worker' },
      BatchSize: 1,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
    },
  },
  TickerRole: {
    Type: 'AWS::IAM::Role',
    Properties: {
      Policies: [
        { PolicyName: 'p', PolicyDocument: { Statement: allow('lambda:InvokeFunction', { 'Fn::GetAtt': ['tick', 'Arn'] }) } },
      ],
    },
  },
  Ticker: {
    Type: 'AWS::Scheduler::Schedule',
    Properties: {
      ScheduleExpression: 'rate(1 minute)',
      FlexibleTimeWindow: { Mode: 'OFF' },
      Target: { Arn: { 'Fn::GetAtt': ['tick', 'Arn'] }, RoleArn: { 'Fn::GetAtt': ['TickerRole', 'Arn'] } },
    },
  },
  ...restApi({ 'POST /runs': 'api', 'GET /runs/{id}': 'api', 'GET /stream': 'stream' }, ['GET /stream']),
};

const data = {
  Table: {
    Type: 'AWS::DynamoDB::Table',
    Properties: {
      AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    },
  },
};

/** Threads start slowly on a busy machine. */
const timeoutOptions = { timeout: 20_000 };

const running: Cloud[] = [];
afterEach(async () => {
  for (const cloud of running.splice(0)) await cloud.stop();
});

async function start(resources: object = {}, directory = freshFolder()) {
  const warned: string[] = [];
  const cloud = await startCloud({
    directory,
    port: 0,
    threads: 2,
    assembly: Promise.resolve(assemblyOf({ App: { Resources: { ...data, ...Resources, ...resources } } }, sources)),
    warn: (line) => void warned.push(line),
    onEmulatorExit: (why) => void warned.push(why),
  });
  running.push(cloud);
  const post = (body: string) => fetch(`${cloud.url}/runs`, { method: 'POST', body });
  const get = async (id: string) => (await fetch(`${cloud.url}/runs/${id}`)).text();
  return { cloud, warned, post, get, directory };
}

describe('the embedded cloud', timeoutOptions, () => {
  test('routes a request from the API through the queue to a worker, and fires its schedules', async () => {
    const { cloud, post, get, warned } = await start();
    const answer = await post('go');
    expect([answer.status, warned]).toEqual([202, []]);
    const id = await answer.text();
    await vi.waitFor(async () => expect(await get(id)).toBe('done by worker'), timeoutOptions);
    await vi.waitFor(async () => expect(await get('tick')).toBe('Scheduled Event'), timeoutOptions);
    const seen = await fetch(`${cloud.url}/runs/${id}`);
    expect([seen.headers.get('x-one'), seen.headers.getSetCookie()]).toEqual(['1', ['a', 'b']]);
    // As API Gateway does: a client receives these headers of a function under another name only.
    expect([seen.headers.get('www-authenticate'), seen.headers.get('x-amzn-remapped-www-authenticate')]).toEqual([
      null,
      'Bearer',
    ]);
    expect(seen.headers.get('x-amzn-remapped-content-length')).toBe('3');
  });

  test('keeps its state over a restart', async () => {
    const { post, get, directory } = await start();
    const id = await (await post('go')).text();
    await vi.waitFor(async () => expect(await get(id)).toBe('done by worker'), timeoutOptions);
    await running.pop()?.stop();
    expect(await (await start({}, directory)).get(id)).toBe('done by worker');
  });

  test('returns API Gateway’s errors when a function fails, returns an invalid result, times out or gets too large a body', async () => {
    const { post, warned } = await start();
    expect(
      await Promise.all(
        ['throw', 'nonsense', 'slow', 'x'.repeat(7_000_000), 'x'.repeat(11_000_000)].map(
          async (body) => (await post(body)).status,
        ),
      ),
    ).toEqual([502, 502, 502, 413, 413]);
    expect(warned).toContain('api: Error: as requested');
  });

  test('denies a function an action that its role does not allow', async () => {
    const { post, warned } = await start();
    expect((await post('steal')).status).toBe(502);
    expect(warned[0]).toContain('not authorized to perform: dynamodb:Scan');
  });

  test('streams a function’s response, and breaks the connection where the function fails', async () => {
    const { cloud } = await start();
    const stream = await fetch(`${cloud.url}/stream`);
    expect(stream.headers.get('content-type')).toBe('text/event-stream');
    expect(stream.headers.has('www-authenticate')).toBe(false);
    expect(await stream.text()).toBe('data: 1\n\ndata: 2\n\ndata: 3\n\n');
    await expect(fetch(`${cloud.url}/stream?fail=1`).then((response) => response.text())).rejects.toThrow();
  });

  test('does not start where Lambda would refuse the event source', async () => {
    const Properties = { ...Resources.Mapping.Properties, FunctionName: { Ref: 'tick' } };
    await expect(start({ Mapping: { ...Resources.Mapping, Properties } })).rejects.toThrow(
      "The function's role may not poll its queue",
    );
    await expect(start({ Queue: { ...Resources.Queue, Properties: { FifoQueue: true, VisibilityTimeout: 2 } } })).rejects.toThrow(
      'Queue visibility timeout: 2 seconds is less than Function timeout: 3 seconds',
    );
  });

  const standardQueue = { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: 30 } };
  test.each([
    [{ MaximumBatchingWindowInSeconds: 1 }, undefined, 'Mapping: Batching window is not supported for FIFO queues.'],
    [{ BatchSize: 11 }, undefined, 'Mapping: The batch size of a FIFO queue is at most 10.'],
    [{ BatchSize: 11 }, standardQueue, 'Maximum batch window in seconds must be greater than 0 if maximum batch size is greater'],
    [
      { MaximumBatchingWindowInSeconds: 1 },
      standardQueue,
      'the embedded cloud does not implement MaximumBatchingWindowInSeconds',
    ],
    [{ FilterCriteria: { Filters: [] } }, standardQueue, 'the embedded cloud does not implement FilterCriteria'],
    [
      { ScalingConfig: { MaximumConcurrency: 1 } },
      undefined,
      'Mapping: the event source mapping is not valid, or not implemented',
    ],
    [{ ProvisionedPollerConfig: {} }, undefined, 'Unrecognized key: "ProvisionedPollerConfig"'],
    [
      { EventSourceArn: 'arn:aws:sqs:eu-west-1:111111111111:orders' },
      undefined,
      'the queue arn:aws:sqs:eu-west-1:111111111111:orders is in no stack of the embedded cloud, and App/Mapping refers to it',
    ],
  ])('does not start with the mapping %j', async (more, ofQueue, message) => {
    const Mapping = { ...Resources.Mapping, Properties: { ...Resources.Mapping.Properties, ...more } };
    await expect(start({ Mapping, Queue: ofQueue ?? Resources.Queue })).rejects.toThrow(message);
  });
});
