/** Traces of the embedded cloud, received by a local collector: one tree from the request to the end. */
import { randomBytes } from 'node:crypto';
import { type Server, createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { chain } from './bad-workflows.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';

const value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ intValue: z.string().regex(/^\d+$/) }),
  z.strictObject({ doubleValue: z.number() }),
  z.strictObject({ boolValue: z.boolean() }),
]);
const attributes = z.array(z.strictObject({ key: z.string(), value }));
const nanoseconds = z.string().regex(/^\d{19}$/);
/** The JSON format of https://github.com/open-telemetry/opentelemetry-proto. */
const spanShape = z.strictObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z
    .string()
    .regex(/^[0-9a-f]{16}$/)
    .exactOptional(),
  name: z.string(),
  kind: z.literal(1),
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds,
  attributes,
  status: z.strictObject({ code: z.union([z.literal(1), z.literal(2)]) }).exactOptional(),
});
const requestShape = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(z.strictObject({ scope: z.strictObject({ name: z.string() }), spans: z.array(spanShape) })),
    }),
  ),
});
type ReceivedSpan = z.output<typeof spanShape>;

const received: ReceivedSpan[] = [];
let status = 200;
let asked = 0;
let collector: Server;
let here: InProcessCloud;

beforeAll(async () => {
  collector = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => void pieces.push(piece));
    request.on('end', () => {
      asked += 1;
      expect([request.method, request.url, request.headers['content-type'], request.headers['content-encoding']]).toEqual([
        'POST',
        '/v1/traces',
        'application/json',
        'gzip',
      ]);
      if (status === 200) {
        const parsed = requestShape.parse(JSON.parse(gunzipSync(Buffer.concat(pieces)).toString('utf8')));
        received.push(...parsed.resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)));
      }
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve));
  const { port } = z.object({ port: z.number() }).parse(collector.address());
  here = await startInProcessCloud({ 'stepwell:traces': { endpoint: `http://127.0.0.1:${port}/v1/traces` } });
});
afterAll(async () => {
  // The warnings report that the collector refused.
  await expect(here.stop()).rejects.toThrow(/collector of traces \(it answered 503\)/);
  collector.close();
});

const newTrace = () => {
  const [traceId, spanId] = [randomBytes(16).toString('hex'), randomBytes(8).toString('hex')];
  return { traceId, header: `00-${traceId}-${spanId}-01` };
};
const script = (id: string, code: string) => ({ id, type: 'javascript', config: { code, outputVariable: id } });
const ofTrace = (traceId: string): readonly ReceivedSpan[] => received.filter((span) => span.traceId === traceId);
const word = (span: ReceivedSpan, key: string): unknown =>
  Object.values(span.attributes.find((one) => one.key === key)?.value ?? {})[0];

test('a run belongs to its caller’s trace, with a span for every attempt', async () => {
  const failing = {
    ...script('b', 'throw new Error("what-a-user-brought")'),
    config: {
      code: 'throw new Error("what-a-user-brought")',
      outputVariable: 'b',
      retry: { attempts: 2, backoff_ms: 100, retry_on: ['error'] },
    },
  };
  expect((await here.call('POST', '/v1/workflows', chain('traced', [script('a', 'return 1'), failing]))).status).toBe(201);
  const { traceId, header } = newTrace();
  const started = await here.call(
    'POST',
    '/v1/runs',
    { workflowName: 'traced', input: { secret: 'what-a-user-brought' } },
    {
      'idempotency-key': 'traced',
      traceparent: header,
    },
  );
  expect(started.status).toBe(202);
  await expect
    .poll(
      () =>
        ofTrace(traceId)
          .map(({ name }) => name)
          .toSorted(),
      { timeout: 60_000 },
    )
    .toContain('run traced');
  const spans = ofTrace(traceId);
  const run = spans.find(({ name }) => name === 'run traced');
  // The response contains the id of the request's span, and its parent is the caller's span.
  const request = spans.find(({ name }) => name === 'start traced');
  expect(run?.parentSpanId).toBe(request?.spanId);
  expect(request?.parentSpanId).toBe(header.split('-')[2]);
  expect(started.headers.get('traceparent')?.split('-')[2]).toBe(request?.spanId);
  for (const span of spans) if (span !== run && span !== request) expect(span.parentSpanId).toBe(run?.spanId);
  expect(
    spans.filter(({ name }) => name === 'node b').map((span) => [word(span, 'stepwell.attempt'), span.status?.code]),
  ).toEqual([
    ['1', 2],
    ['2', 2],
  ]);
  expect(JSON.stringify(received)).not.toContain('what-a-user-brought');
});

test('a collector that refuses delays no run, and is retried', async () => {
  status = 503;
  const before = asked;
  const { traceId, header } = newTrace();
  const started = await here.call(
    'POST',
    '/v1/runs',
    { workflowName: 'traced', input: {} },
    { 'idempotency-key': 'refused', traceparent: header },
  );
  const { runId } = z.looseObject({ runId: z.string() }).parse(started.body);
  const statusOf = async () =>
    z.looseObject({ status: z.string() }).parse((await here.call('GET', `/v1/runs/${runId}`)).body).status;
  await expect.poll(statusOf, { timeout: 60_000 }).toMatch(/completed|failed/);
  await expect.poll(() => asked, { timeout: 60_000 }).toBeGreaterThan(before);
  expect(ofTrace(traceId)).toEqual([]);
  status = 200;
});
