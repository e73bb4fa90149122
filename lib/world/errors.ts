/**
 * The errors of a World. The Workflow DevKit recognizes its errors by their name alone, because an application can hold several copies of
 * its classes. So an error of this class is the SDK's error of that name.
 */
import { defined } from '../base/defined.ts';
import type { CallBody, CallResult, Refusal, TransportFailure, WorldMethod } from './calls.ts';

/** The SDK's name of an error code of the service. Every other code is a `WorkflowWorldError`. */
export const errorNames: Readonly<Record<string, string>> = {
  entity_conflict: 'EntityConflictError',
  run_expired: 'RunExpiredError',
  too_early: 'TooEarlyError',
  precondition_failed: 'PreconditionFailedError',
  rate_limited: 'ThrottleError',
  run_not_found: 'WorkflowRunNotFoundError',
  hook_not_found: 'HookNotFoundError',
  run_not_supported: 'RunNotSupportedError',
};

interface ErrorFields {
  readonly status?: number;
  readonly code: string;
  /** in seconds */
  readonly retryAfter?: number;
  readonly runId?: string;
  readonly token?: string;
  readonly cause?: unknown;
}

export class WorldError extends Error {
  declare readonly status?: number;
  declare readonly code: string;
  declare readonly retryAfter?: number;
  declare readonly runId?: string;
  declare readonly token?: string;

  constructor(name: string, message: string, { cause, ...fields }: ErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    // Not enumerable, as the name of every other error.
    Object.defineProperty(this, 'name', { value: name, configurable: true, writable: true });
    Object.assign(this, fields);
  }
}

/** The value of an answer. @throws WorldError */
export function valueOf(
  result: CallResult,
  method: WorldMethod,
  body: CallBody,
): Extract<CallResult, { kind: 'answered' }>['value'] {
  switch (result.kind) {
    case 'answered':
      return result.value;
    case 'refused':
      throw refusalError(result, method, body);
    case 'failed':
      throw failureError(result, method);
  }
}

/** What the service says of a request that it refused. */
export interface RefusalReasons {
  readonly message: string;
  readonly errors?: readonly { readonly pointer: string; readonly message: string }[] | undefined;
  /** the missing scope */
  readonly required?: string | undefined;
  /** what to do next */
  readonly recovery?: string | undefined;
}

const maxReasons = 3;

/** The reason and what to do next as one text, because the SDK shows nothing of an error but its message. */
export function refusalText({ message, errors = [], required, recovery }: RefusalReasons): string {
  const details = errors.slice(0, maxReasons).map((error) => `${error.pointer}: ${error.message}`);
  if (details.length > 0) return `${message} (${details.join('; ')})`;
  const reason = required === undefined ? message : `${message.replace(/\.$/, '')} (required: ${required}).`;
  return recovery === undefined ? reason : `${reason.replace(/\.?$/, '.')} ${recovery}`;
}

function refusalError({ status, code, message, retryAfter }: Refusal, method: WorldMethod, body: CallBody): WorldError {
  const name = errorNames[code] ?? 'WorkflowWorldError';
  const runId = stringOf(body['runId']);
  const token = stringOf(body['token']) ?? stringOf(body['hookId']);
  return new WorldError(name, `${method}: ${message}`, defined({ status, code, retryAfter, runId, token }));
}

/** The SDK repeats the message of the queue after errors with these codes, and fails the run after others without a status. */
function failureError({ reason, message, cause }: TransportFailure, method: WorldMethod): WorldError {
  const code = reason === 'timeout' ? 'TIMEOUT' : 'TRANSPORT';
  return new WorldError('WorkflowWorldError', `${method}: ${message}`, defined({ code, cause }));
}

/** The service answered with something that this World cannot read: it is of another version, or another service. */
export const unreadableAnswer = (method: WorldMethod, reason: string): WorldError =>
  new WorldError('WorkflowWorldError', `${method}: the answer of the service ${reason}`, {
    status: 502,
    code: 'UNREADABLE_ANSWER',
  });

const stringOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
