/**
 * Exports spans to an OpenTelemetry collector: OTLP over HTTP as JSON
 * (https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding). Ids are hex, 64-bit numbers are strings, and enums
 * are numbers.
 */
import { defined } from '../base/defined.ts';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Span, Spans } from '../ports/spans.ts';
import { Unavailable } from '../ports/unavailable.ts';

const compressed = promisify(gzip);

/** The time limit of a request to a collector that does not respond. */
export const collectorTimeoutMs = 10_000;

const spanKinds = { internal: 1 } as const;
const statusCodes = { ok: 1, error: 2 } as const;

export interface Collector {
  readonly endpoint: string;
  /** read for each request, never logged */
  readonly headers: () => Promise<Readonly<Record<string, string>>>;
  /** identifies the installation */
  readonly installation: string;
}

export class OtlpSpans implements Spans {
  readonly #collector: Collector;

  constructor(collector: Collector) {
    this.#collector = collector;
  }

  async send(spans: readonly Span[]): Promise<void> {
    const { endpoint, headers, installation } = this.#collector;
    const body = await compressed(JSON.stringify(requestOf(spans, installation)));
    const credentialHeaders = await headers();
    const response = await callCollector(() =>
      fetch(endpoint, {
        method: 'POST',
        headers: {
          ...credentialHeaders,
          'content-type': 'application/json',
          'content-encoding': 'gzip',
          'user-agent': 'Stepwell',
        },
        body,
        // Never send credentials to another address.
        redirect: 'error',
        signal: AbortSignal.timeout(collectorTimeoutMs),
      }),
    );
    // Frees the connection. The body is not logged, because it may repeat sent data.
    await response.body?.cancel();
    if (!response.ok) throw new Unavailable(`the collector of traces (it answered ${response.status})`);
  }
}

async function callCollector(request: () => Promise<Response>): Promise<Response> {
  try {
    return await request();
  } catch (cause) {
    throw new Unavailable('the collector of traces', { cause });
  }
}

type Value = Span['attributes'][string];
const attribute = ([key, value]: readonly [string, Value]) => ({ key, value: valueOf(value) });
const valueOf = (value: Value) => {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
};
const nanoseconds = (epochMs: number): string => `${epochMs}000000`;

const requestOf = (spans: readonly Span[], installation: string) => ({
  resourceSpans: [
    {
      resource: {
        attributes: Object.entries({ 'service.name': 'stepwell', 'service.instance.id': installation }).map(attribute),
      },
      scopeSpans: [
        {
          scope: { name: 'stepwell' },
          spans: spans.map(({ traceId, spanId, parentSpanId, name, startedAt, endedAt, status, attributes }) =>
            defined({
              traceId,
              spanId,
              parentSpanId,
              name,
              kind: spanKinds.internal,
              startTimeUnixNano: nanoseconds(startedAt),
              endTimeUnixNano: nanoseconds(endedAt),
              attributes: Object.entries(attributes).map(attribute),
              status: status === undefined ? undefined : { code: statusCodes[status] },
            }),
          ),
        },
      ],
    },
  ],
});
