/** Export of spans to a collector that accepts, refuses, redirects or does not respond. */
import { type Server, createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import * as z from 'zod';
import { OtlpSpans } from '../../lib/aws/otlp-spans.ts';
import { instant } from '../../lib/engine/time.ts';
import { type Span } from '../../lib/ports/spans.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';

const span: Span = {
  traceId: '0af7651916cd43dd8448eb211c80319c',
  spanId: 'b7ad6b7169203331',
  name: 'run order',
  startedAt: instant(1_700_000_000_123),
  endedAt: instant(1_700_000_001_000),
  status: 'error',
  attributes: { 'stepwell.run.id': 'wrun_1', 'stepwell.attempt': 2, ratio: 0.5, asked: true },
};

let server: Server;
let port: number;
let answer: { status: number; headers?: Record<string, string> };
let seen: { headers: Readonly<Record<string, unknown>>; body: string }[];
beforeAll(async () => {
  server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => void pieces.push(piece));
    request.on('end', () => {
      const bytes = Buffer.concat(pieces);
      seen.push({ headers: request.headers, body: bytes.length === 0 ? '' : gunzipSync(bytes).toString('utf8') });
      response.writeHead(answer.status, answer.headers ?? {}).end('{}');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = z.object({ port: z.number() }).parse(server.address()));
});
beforeEach(() => {
  answer = { status: 200 };
  seen = [];
});
afterAll(() => server.close());

const spansTo = (endpoint = `http://127.0.0.1:${port}/v1/traces`): OtlpSpans =>
  new OtlpSpans({ endpoint, headers: () => Promise.resolve({ authorization: 'Bearer secret' }), installation: 'runs' });

test('spans are sent as OTLP JSON, with ids in hex, nanoseconds as strings and enums as numbers', async () => {
  await spansTo().send([span]);
  expect(seen.map(({ headers }) => headers['authorization'])).toEqual(['Bearer secret']);
  expect(JSON.parse(seen[0]?.body ?? '')).toEqual({
    resourceSpans: [
      {
        resource: {
          attributes: [
            { key: 'service.name', value: { stringValue: 'stepwell' } },
            { key: 'service.instance.id', value: { stringValue: 'runs' } },
          ],
        },
        scopeSpans: [
          {
            scope: { name: 'stepwell' },
            spans: [
              {
                traceId: span.traceId,
                spanId: span.spanId,
                name: 'run order',
                kind: 1,
                startTimeUnixNano: '1700000000123000000',
                endTimeUnixNano: '1700000001000000000',
                attributes: [
                  { key: 'stepwell.run.id', value: { stringValue: 'wrun_1' } },
                  { key: 'stepwell.attempt', value: { intValue: '2' } },
                  { key: 'ratio', value: { doubleValue: 0.5 } },
                  { key: 'asked', value: { boolValue: true } },
                ],
                status: { code: 2 },
              },
            ],
          },
        ],
      },
    ],
  });
});

test.each([400, 401, 429, 503])('a response of %i is Unavailable, and the error does not contain sent data', async (status) => {
  answer = { status };
  const failed = await spansTo()
    .send([span])
    .catch((error: unknown) => error);
  expect(failed).toBeInstanceOf(Unavailable);
  expect(String(failed)).toContain(`it answered ${status}`);
  expect(String(failed)).not.toContain('secret');
});

test('a redirect is not followed, so that credentials reach only one address', async () => {
  answer = { status: 307, headers: { location: `http://127.0.0.1:${port}/elsewhere` } };
  await expect(spansTo().send([span])).rejects.toThrow(Unavailable);
  expect(seen).toHaveLength(1);
});

test('a collector that is not reachable is Unavailable', async () => {
  await expect(spansTo('http://127.0.0.1:1/v1/traces').send([span])).rejects.toThrow(Unavailable);
});
