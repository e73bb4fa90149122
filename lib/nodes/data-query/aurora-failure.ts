/** Whose trouble it is when a database that is asked by the Data API does not answer as asked. */
import { unreachable } from '../../engine/invariant.ts';
import { type JsonObject, type JsonValue, isJsonObject } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { AuroraQuery } from '../../engine/query/definition.ts';
import type { DatabaseFault } from '../../ports/databases.ts';

interface Trouble {
  readonly query: Pick<AuroraQuery, 'name' | 'connection' | 'maxBytes'>;
  readonly values: JsonObject;
  readonly limitMs: number;
}

/** Classes of SQLSTATE (Postgres, appendix A) that say nothing of the statement: connection, resources, operator, login. */
const theirs = /^(08|53|57P|58|28|3D)/;
/** Those that stay as long as the statement does: not supported, read only, syntax and rights. */
const authors = /^(0A|25|42)/;
const queryCancelled = '57014';

export function failureOf(fault: DatabaseFault, trouble: Trouble): Failure {
  const { connection } = trouble.query;
  switch (fault.kind) {
    case 'refused':
      return refusalOf(fault, trouble);
    case 'timed_out':
      return timedOut(trouble);
    case 'too_large':
      return tooLarge('more than the Data API answers');
    case 'waking':
      return unreached(`the database ${connection} had paused, and wakes up`);
    case 'busy':
      return { cause: 'rate_limit', code: 'database_busy', message: `the Data API asks to be left alone for a while` };
    case 'forbidden':
      return {
        cause: 'forbidden',
        code: 'connection_forbidden',
        message: `the worker may not ask the database ${connection} (${fault.name})`,
      };
    case 'misplaced':
      return {
        cause: 'invalid',
        code: 'connection_invalid',
        message: `the setting "databases" leads ${connection} nowhere (${fault.name})`,
      };
    case 'unreachable':
      return unreached(`the database ${connection} could not be asked (${fault.name})`);
    default:
      return unreachable(fault);
  }
}

export const timedOut = ({ query, limitMs }: Pick<Trouble, 'query' | 'limitMs'>): Failure => ({
  cause: 'timeout',
  code: 'query_timeout',
  message: `${query.name} took longer than ${limitMs} ms`,
  details: { timeoutMs: limitMs },
});

export const tooLarge = (limit: string): Failure => ({
  cause: 'invalid',
  code: 'result_too_large',
  message: `the query gives ${limit}`,
});

const unreached = (message: string, details?: JsonObject): Failure => ({
  cause: 'provider_error',
  code: 'database_unreachable',
  message,
  ...(details === undefined ? {} : { details }),
});

function refusalOf({ message, sqlState, position }: Extract<DatabaseFault, { kind: 'refused' }>, trouble: Trouble): Failure {
  const words = withoutValues(message, trouble.values);
  // Refused before it came to the database, and it would be again.
  if (sqlState === undefined) return { cause: 'invalid', code: 'query_failed', message: words };
  const details = { sqlState, ...(position === undefined ? {} : { position }) };
  if (sqlState === queryCancelled) {
    const timeout = timedOut(trouble);
    return { ...timeout, details: { ...timeout.details, ...details } };
  }
  if (theirs.test(sqlState)) return unreached(`the database does not take the query: ${words}`, details);
  return { cause: authors.test(sqlState) ? 'invalid' : 'error', code: 'query_failed', message: words, details };
}

/** Shorter ones are taken out only where they stand in quotes: they are in many words. */
const leastHidden = 4;

/** A database repeats what it could not use. What an argument was is in the run's events, and not in a message for everybody. */
function withoutValues(words: string, values: JsonObject): string {
  return Object.entries(values)
    .flatMap(([name, value]) => textsIn(value).map((text) => ({ name, text })))
    .toSorted((one, other) => other.text.length - one.text.length)
    .reduce((rest, { name, text }) => {
      const quoted = rest.replaceAll(`"${text}"`, `[argument ${name}]`);
      return text.length < leastHidden ? quoted : quoted.replaceAll(text, `[argument ${name}]`);
    }, words);
}

const textsIn = (value: JsonValue): readonly string[] => {
  if (typeof value === 'string' || typeof value === 'number') return value === '' ? [] : [String(value)];
  if (value === null || typeof value === 'boolean') return [];
  const parts: readonly JsonValue[] = isJsonObject(value) ? Object.values(value) : Array.isArray(value) ? value : [];
  return [JSON.stringify(value), ...parts.flatMap(textsIn)];
};
