/** Runs a `dataQuery` node: reads the query, validates the arguments, and executes it. */
import { resolveTemplate } from '../../engine/graph/template.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../engine/json.ts';
import { unreachable } from '../../engine/invariant.ts';
import type { Failure } from '../../engine/log/events.ts';
import { validateArguments } from '../../engine/query/arguments.ts';
import type { AuroraQuery, PostgresQuery, QueryVersion } from '../../engine/query/definition.ts';
import { durationMs } from '../../engine/time.ts';
import type { SecretMask } from '../../egress/secret-mask.ts';
import { shownValues, withDetail } from '../shown-input.ts';
import { type NodeTools, type RunResult, type Runner, type QueryLookup, failed, runner } from '../runner.ts';
import { type DatabasePorts, queryAurora } from './aurora.ts';
import { readConnection } from './connection.ts';
import { queryHttp } from './http-query.ts';
import { type DataQueryConfig, argumentsOf, dataQuery, queryOf } from './shape.ts';

/**
 * @param http runs the requests of queries over HTTP
 * @param databases absent: this worker cannot use the Data API
 */
export const runDataQuery = (http: Runner, databases?: DatabasePorts): Runner =>
  runner(dataQuery, async (config, input, tools) => {
    const found = await queryFor(config, tools);
    if ('failure' in found) return failed(found.failure);
    const { query } = found;
    const resolved = resolveTemplate(argumentsOf(config), input.context);
    input.context.work.value(resolved);
    const accepted = validateArguments(query.parameters, isJsonObject(resolved) ? resolved : {});
    const withInput = (result: RunResult): RunResult =>
      withDetail(result, 'input', () => shownArguments(query, resolved, tools.secrets.mask));
    if (accepted.kind === 'refused') {
      const message = `${query.name}: ${accepted.errors.join('; ')}`;
      return withInput(failed({ cause: 'invalid', code: 'arguments_invalid', message }));
    }
    const limited = { ...tools, timeoutMs: durationMs(Math.min(tools.timeoutMs, query.timeoutMs)) };
    switch (query.kind) {
      case 'http':
        // Its failure has the request.
        return queryHttp(http, query, accepted.values, input, limited);
      case 'postgres':
        return withInput(await runPostgresQuery(query, accepted.values, limited));
      case 'aurora':
        return withInput(await runAuroraQuery(databases, query, accepted.values, limited));
      default:
        return unreachable(query);
    }
  });

const shownArguments = ({ name, version }: QueryVersion, resolved: JsonValue, mask: SecretMask): JsonObject => ({
  query: name,
  version,
  arguments: shownValues(isJsonObject(resolved) ? resolved : {}, mask),
});

async function queryFor(
  config: DataQueryConfig,
  { query: read }: NodeTools,
): Promise<{ readonly query: QueryVersion } | { readonly failure: Failure }> {
  const name = queryOf(config);
  let lookup: QueryLookup;
  try {
    lookup = await read(name, config.version);
  } catch {
    const message = `the query ${name} cannot be read now`;
    return { failure: { cause: 'provider_error', code: 'query_unavailable', message } };
  }
  if (lookup.kind === 'query') return { query: lookup.query };
  return { failure: { cause: 'invalid', ...refusals[lookup.kind](name, config.version) } };
}

type Refusal = (name: string, version: number | undefined) => Pick<Failure, 'code' | 'message'>;
const refusals: Readonly<Record<Exclude<QueryLookup['kind'], 'query'>, Refusal>> = {
  unknown: (name) => ({ code: 'query_unknown', message: `the query ${name} does not exist` }),
  version_unknown: (name, version) => ({ code: 'query_unknown', message: `${name} has no version ${version}` }),
  archived: (name) => ({ code: 'query_archived', message: `the query ${name} is archived` }),
};

async function runPostgresQuery(
  query: PostgresQuery & { readonly version: number },
  values: JsonObject,
  { secrets, signal, timeoutMs }: NodeTools,
): Promise<RunResult> {
  const secret = await secrets.resolve(query.connection);
  if ('failure' in secret) return failed(secret.failure);
  const connection = readConnection(secret.text);
  if ('error' in connection) {
    const message = `the secret ${query.connection} is ${connection.error}`;
    return failed({ cause: 'invalid', code: 'connection_invalid', message });
  }
  secrets.addRedaction(query.connection, connection.password);
  // The driver is loaded at the first Postgres query.
  const { queryPostgres } = await import('./postgres.ts');
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const result = await queryPostgres({ query, values, connection, limitMs: timeoutMs, signal: limited });
  signal.throwIfAborted();
  return result;
}

async function runAuroraQuery(
  ports: DatabasePorts | undefined,
  query: AuroraQuery & { readonly version: number },
  values: JsonObject,
  { scope, signal, timeoutMs }: NodeTools,
): Promise<RunResult> {
  const target = await ports?.targetOf(scope, query.connection);
  if (ports === undefined || target === undefined) {
    const message = `the setting "databases" has no ${query.connection} for this project and environment`;
    return failed({ cause: 'invalid', code: 'connection_invalid', message });
  }
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const databases = await ports.service();
  const result = await queryAurora({ query, values, target, databases, limitMs: timeoutMs, signal: limited });
  signal.throwIfAborted();
  return result;
}
