/** Maps errors of Postgres and its driver to failures of the node. */
import { defined } from '../../base/defined.ts';
import pg from 'pg';
import type { JsonObject } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { PostgresQuery } from '../../engine/query/definition.ts';

/** Why the worker interrupted the query. */
export type Interruption = 'none' | 'aborted' | 'too_large';

/** SQLSTATE classes (Postgres, appendix A) of errors outside of the statement: connection, resources, operator, login. */
const transientStates = /^(08|53|57P|58|28|3D)/;
const queryCancelled = '57014';

export function failureOf(
  error: unknown,
  interruption: Interruption,
  { query, limitMs }: { readonly query: Pick<PostgresQuery, 'name'>; readonly limitMs: number },
): Failure {
  const timedOut = {
    cause: 'timeout',
    code: 'query_timeout',
    message: `${query.name} took longer than ${limitMs} ms`,
    details: { timeoutMs: limitMs },
  } as const satisfies Failure;
  if (interruption === 'aborted') return timedOut;
  const messageText = error instanceof Error ? error.message.slice(0, 1_000) : String(error);
  if (!(error instanceof pg.DatabaseError))
    return {
      cause: 'provider_error',
      code: 'database_unreachable',
      message: `the database could not be reached: ${messageText}`,
    };
  const { code = '', position } = error;
  const details: JsonObject = defined({ sqlState: code, position });
  if (code === queryCancelled) return { ...timedOut, details: { ...timedOut.details, ...details } };
  return transientStates.test(code)
    ? {
        cause: 'provider_error',
        code: 'database_unreachable',
        message: `the database did not accept the query: ${messageText}`,
        details,
      }
    : { cause: 'error', code: 'query_failed', message: messageText, details };
}
