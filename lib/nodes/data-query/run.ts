/** Finds the query, holds the node's arguments against its parameters, and asks. */
import { resolveTemplate } from '../../engine/graph/template.ts';
import { type JsonObject, isJsonObject } from '../../engine/json.ts';
import { unreachable } from '../../engine/invariant.ts';
import type { Failure } from '../../engine/log/events.ts';
import { acceptArguments } from '../../engine/query/arguments.ts';
import type { AuroraQuery, PostgresQuery, QueryVersion } from '../../engine/query/definition.ts';
import { durationMs } from '../../engine/time.ts';
import { type NodeTools, type RunResult, type Runner, failed, runner } from '../runner.ts';
import { type DatabaseWorld, askAurora } from './aurora.ts';
import { readConnection } from './connection.ts';
import { askHttp } from './http-query.ts';
import type { QueryAnswer } from './query-answer.ts';
import { type DataQueryConfig, argumentsOf, dataQuery, queryOf } from './shape.ts';

/**
 * @param http runs the requests of queries over HTTP
 * @param databases absent: this worker asks none by the Data API
 */
export const runDataQuery = (http: Runner, databases?: DatabaseWorld): Runner =>
  runner(dataQuery, async (config, input, tools) => {
    const found = await queryFor(config, tools);
    if ('failure' in found) return failed(found.failure);
    const { query } = found;
    const given = resolveTemplate(argumentsOf(config), input.context);
    input.context.work.value(given);
    const verdict = acceptArguments(query.parameters, isJsonObject(given) ? given : {});
    if (verdict.kind === 'refused') {
      const message = `${query.name}: ${verdict.faults.join('; ')}`;
      return failed({ cause: 'invalid', code: 'arguments_invalid', message });
    }
    const limited = { ...tools, timeoutMs: durationMs(Math.min(tools.timeoutMs, query.timeoutMs)) };
    switch (query.kind) {
      case 'http':
        return askHttp(http, query, verdict.values, input, limited);
      case 'postgres':
        return askDatabase(query, verdict.values, limited);
      case 'aurora':
        return askByDataApi(databases, query, verdict.values, limited);
      default:
        return unreachable(query);
    }
  });

async function queryFor(
  config: DataQueryConfig,
  { query: read }: NodeTools,
): Promise<{ readonly query: QueryVersion } | { readonly failure: Failure }> {
  const name = queryOf(config);
  let answer: QueryAnswer;
  try {
    answer = await read(name, config.version);
  } catch {
    const message = `the query ${name} could not be read now`;
    return { failure: { cause: 'provider_error', code: 'query_unavailable', message } };
  }
  if (answer.kind === 'query') return { query: answer.query };
  return { failure: { cause: 'invalid', ...refusals[answer.kind](name, config.version) } };
}

type Refusal = (name: string, version: number | undefined) => Pick<Failure, 'code' | 'message'>;
const refusals: Readonly<Record<Exclude<QueryAnswer['kind'], 'query'>, Refusal>> = {
  unknown: (name) => ({ code: 'query_unknown', message: `there is no query ${name}` }),
  version_unknown: (name, version) => ({ code: 'query_unknown', message: `${name} has no version ${version}` }),
  archived: (name) => ({ code: 'query_archived', message: `the query ${name} is archived` }),
};

async function askDatabase(
  query: PostgresQuery & { readonly version: number },
  values: JsonObject,
  { secrets, signal, timeoutMs }: NodeTools,
): Promise<RunResult> {
  const secret = await secrets.one(query.connection);
  if ('failure' in secret) return failed(secret.failure);
  const connection = readConnection(secret.text);
  if ('fault' in connection) {
    const message = `the secret ${query.connection} is ${connection.fault}`;
    return failed({ cause: 'invalid', code: 'connection_invalid', message });
  }
  secrets.alsoHide(query.connection, connection.password);
  // The driver is loaded when the first database is asked.
  const { askPostgres } = await import('./postgres.ts');
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const result = await askPostgres({ query, values, connection, limitMs: timeoutMs, signal: limited });
  signal.throwIfAborted();
  return result;
}

async function askByDataApi(
  world: DatabaseWorld | undefined,
  query: AuroraQuery & { readonly version: number },
  values: JsonObject,
  { scope, signal, timeoutMs }: NodeTools,
): Promise<RunResult> {
  const place = await world?.placeOf(scope, query.connection);
  if (world === undefined || place === undefined) {
    const message = `the setting "databases" has no ${query.connection} for this project and environment`;
    return failed({ cause: 'invalid', code: 'connection_invalid', message });
  }
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const databases = await world.service();
  const result = await askAurora({ query, values, place, databases, limitMs: timeoutMs, signal: limited });
  signal.throwIfAborted();
  return result;
}
