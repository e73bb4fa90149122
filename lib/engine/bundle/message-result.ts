/** Interprets the response of deployed code to a message. */
import { defined } from '../../base/defined.ts';
import { type JsonValue, isJsonObject } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { type DurationMs, days, durationMs } from '../time.ts';

/** The outcome of delivering a message to the code. */
export type InvocationResult =
  | { readonly kind: 'responded'; readonly status: number; readonly body: JsonValue | undefined }
  | { readonly kind: 'crashed'; readonly message: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'unloadable'; readonly message: string };

export type MessageResult =
  /** the message is processed; the run continues */
  | { readonly kind: 'done' }
  /** send the same content again later, as a new message */
  | { readonly kind: 'redeliver'; readonly afterMs: DurationMs }
  | { readonly kind: 'run-completed'; readonly output: JsonValue }
  | { readonly kind: 'run-failed'; readonly failure: Failure }
  /** retry the message */
  | { readonly kind: 'failed'; readonly failure: Failure };

/** The maximum lifetime of a run. */
const maxRedeliveryDelay = days(365);

export function messageResultOf(invocation: InvocationResult): MessageResult {
  switch (invocation.kind) {
    case 'crashed':
      return { kind: 'failed', failure: { cause: 'error', code: 'code_crashed', message: invocation.message } };
    case 'timed_out':
      return {
        kind: 'failed',
        failure: { cause: 'timeout', code: 'timeout', message: 'the code did not respond before its timeout' },
      };
    case 'unloadable':
      return { kind: 'failed', failure: { cause: 'invalid', code: 'artifact_unusable', message: invocation.message } };
    case 'responded':
      return resultOfResponse(invocation.status, invocation.body);
  }
}

function resultOfResponse(status: number, body: JsonValue | undefined): MessageResult {
  const requestedSeconds = isJsonObject(body) ? body['timeoutSeconds'] : undefined;
  if ((status === 200 || status === 503) && typeof requestedSeconds === 'number' && requestedSeconds >= 0) {
    return { kind: 'redeliver', afterMs: durationMs(Math.min(requestedSeconds * 1_000, maxRedeliveryDelay)) };
  }
  if (status !== 200) {
    return {
      kind: 'failed',
      failure: { cause: 'error', code: 'code_refused', message: `the code responded with status ${status}` },
    };
  }
  return (isJsonObject(body) ? runEndIn(body['run']) : undefined) ?? { kind: 'done' };
}

function runEndIn(runStatus: JsonValue | undefined): MessageResult | undefined {
  if (!isJsonObject(runStatus)) return undefined;
  if (runStatus['status'] === 'completed') return { kind: 'run-completed', output: runStatus['output'] ?? null };
  if (runStatus['status'] !== 'failed') return undefined;
  const error = isJsonObject(runStatus['error']) ? runStatus['error'] : {};
  const { message, code } = error;
  return {
    kind: 'run-failed',
    failure: defined({
      cause: 'error',
      message: typeof message === 'string' ? message : 'the code reported that the run failed, without a message',
      code: typeof code === 'string' ? code : undefined,
    }),
  };
}
