/** Wires the traces function to its collector and to the secret of the collector's header. */
import { once } from '../../lib/base/lazy.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { OtlpSpans } from '../../lib/aws/otlp-spans.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { type TraceSetting, traceSetting } from '../../lib/api/schemas/trace-setting.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { Spans } from '../../lib/ports/spans.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';

export interface Tracing {
  readonly spans: Spans;
  readonly samplePercent: number;
}

/** Reads the setting from the environment once. */
export const createTracing = (clock: Clock): (() => Tracing) => once(() => tracingOf(clock));

function tracingOf(clock: Clock): Tracing {
  const { traces, runsTable } = settingsFrom(process.env);
  const { endpoint, header, samplePercent } = traceSetting.parse(JSON.parse(traces));
  const headers = headersOf(header, new SecretCache(new ManagedSecrets(secretsClient()), clock));
  return { spans: new OtlpSpans({ endpoint, headers, installation: runsTable }), samplePercent };
}

const headersOf =
  (header: TraceSetting['header'], secrets: SecretCache) => async (): Promise<Readonly<Record<string, string>>> => {
    if (header === undefined) return {};
    const text = await secrets.text(header.secretArn);
    if (text === undefined) throw new Unavailable('the secret of the trace collector has no text');
    return { [header.name]: text };
  };
