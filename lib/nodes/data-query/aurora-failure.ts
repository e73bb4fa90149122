/** Maps errors of the RDS Data API to failures of the node. */
import { defined } from '../../base/defined.ts';
import { unreachable } from '../../engine/invariant.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { AuroraQuery } from '../../engine/query/definition.ts';
import type { DatabaseCallError } from '../../ports/databases.ts';

interface QueryContext {
  readonly query: Pick<AuroraQuery, 'name' | 'connection' | 'maxBytes'>;
  readonly values: JsonObject;
  readonly limitMs: number;
}

/** SQLSTATE classes (Postgres, appendix A) of errors outside of the statement: connection, resources, operator, login. */
const transientStates = /^(08|53|57P|58|28|3D)/;
/** SQLSTATE classes of errors that repeat with the same statement: unsupported, read only, syntax and permissions. */
const permanentStates = /^(0A|25|42)/;
const queryCancelled = '57014';

export function failureOf(error: DatabaseCallError, context: QueryContext): Failure {
  const { connection } = context.query;
  switch (error.kind) {
    case 'refused':
      return refusalOf(error, context);
    case 'timed_out':
      return timedOut(context);
    case 'too_large':
      return tooLarge('more than the limit of the Data API');
    case 'resuming':
      return unreachableFailure(`the database ${connection} is resuming from a pause`);
    case 'busy':
      return { cause: 'rate_limit', code: 'database_busy', message: `the Data API throttled the query` };
    case 'forbidden':
      return {
        cause: 'forbidden',
        code: 'connection_forbidden',
        message: `the worker may not query the database ${connection} (${error.name})`,
      };
    case 'misconfigured':
      return {
        cause: 'invalid',
        code: 'connection_invalid',
        message: `the setting "databases" is wrong for ${connection} (${error.name})`,
      };
    case 'unreachable':
      return unreachableFailure(`the database ${connection} could not be reached (${error.name})`);
    default:
      return unreachable(error);
  }
}

export const timedOut = ({ query, limitMs }: Pick<QueryContext, 'query' | 'limitMs'>): Failure => ({
  cause: 'timeout',
  code: 'query_timeout',
  message: `${query.name} took longer than ${limitMs} ms`,
  details: { timeoutMs: limitMs },
});

export const tooLarge = (limit: string): Failure => ({
  cause: 'invalid',
  code: 'result_too_large',
  message: `the query returns ${limit}`,
});

const unreachableFailure = (message: string, details?: JsonObject): Failure =>
  defined({
    cause: 'provider_error',
    code: 'database_unreachable',
    message,
    details,
  });

function refusalOf(
  { message, sqlState, position }: Extract<DatabaseCallError, { kind: 'refused' }>,
  context: QueryContext,
): Failure {
  const messageText = redactValues(message, context.values);
  // The service rejected the query before it reached the database. A retry would be rejected too.
  if (sqlState === undefined) return { cause: 'invalid', code: 'query_failed', message: messageText };
  const details = defined({ sqlState, position });
  if (sqlState === queryCancelled) {
    const timeout = timedOut(context);
    return { ...timeout, details: { ...timeout.details, ...details } };
  }
  if (transientStates.test(sqlState)) return unreachableFailure(`the database did not accept the query: ${messageText}`, details);
  return { cause: permanentStates.test(sqlState) ? 'invalid' : 'error', code: 'query_failed', message: messageText, details };
}

/** Shorter values are only redacted inside quotes, because they match unrelated text. */
const minRedactedLength = 4;

/** Databases quote arguments in errors. Arguments are redacted, because error messages are more widely visible than inputs. */
function redactValues(messageText: string, values: JsonObject): string {
  return Object.entries(values)
    .flatMap(([name, value]) => textsIn(value).map((text) => ({ name, text })))
    .toSorted((one, other) => other.text.length - one.text.length)
    .reduce((rest, { name, text }) => {
      const quoted = rest.replaceAll(`"${text}"`, `[argument ${name}]`);
      return text.length < minRedactedLength ? quoted : quoted.replaceAll(text, `[argument ${name}]`);
    }, messageText);
}

const textsIn = (value: JsonValue): readonly string[] => {
  if (typeof value === 'string' || typeof value === 'number') return value === '' ? [] : [String(value)];
  if (value === null || typeof value === 'boolean') return [];
  const parts: readonly JsonValue[] = isJsonObject(value) ? Object.values(value) : Array.isArray(value) ? value : [];
  return [JSON.stringify(value), ...parts.flatMap(textsIn)];
};
