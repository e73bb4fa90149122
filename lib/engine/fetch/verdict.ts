/** What the answer of a deployment's code means for the message that it was given. */
import { type JsonValue, isJsonObject } from '../json.ts';
import type { Failure } from '../log/events.ts';
import { type DurationMs, days, durationMs } from '../time.ts';

/** What became of handing the message over. */
export type Handed =
  | { readonly kind: 'answered'; readonly status: number; readonly body: JsonValue | undefined }
  | { readonly kind: 'crashed'; readonly message: string }
  | { readonly kind: 'timed_out' }
  | { readonly kind: 'unloadable'; readonly message: string };

export type Verdict =
  /** the message is done; the run goes on */
  | { readonly kind: 'done' }
  /** the same again later, as a fresh message */
  | { readonly kind: 'again'; readonly afterMs: DurationMs }
  | { readonly kind: 'run-completed'; readonly output: JsonValue }
  | { readonly kind: 'run-failed'; readonly failure: Failure }
  /** to be tried again */
  | { readonly kind: 'failed'; readonly failure: Failure };

/** No run lives longer. */
const longestAgain = days(365);

export function verdictOf(handed: Handed): Verdict {
  switch (handed.kind) {
    case 'crashed':
      return { kind: 'failed', failure: { cause: 'error', code: 'code_crashed', message: handed.message } };
    case 'timed_out':
      return { kind: 'failed', failure: { cause: 'timeout', code: 'timeout', message: 'the code did not answer in time' } };
    case 'unloadable':
      return { kind: 'failed', failure: { cause: 'invalid', code: 'artifact_unusable', message: handed.message } };
    case 'answered':
      return ofAnswer(handed.status, handed.body);
  }
}

function ofAnswer(status: number, body: JsonValue | undefined): Verdict {
  const asked = isJsonObject(body) ? body['timeoutSeconds'] : undefined;
  if ((status === 200 || status === 503) && typeof asked === 'number' && asked >= 0) {
    return { kind: 'again', afterMs: durationMs(Math.min(asked * 1_000, longestAgain)) };
  }
  if (status !== 200) {
    return { kind: 'failed', failure: { cause: 'error', code: 'code_refused', message: `the code answered ${status}` } };
  }
  return (isJsonObject(body) ? endOf(body['run']) : undefined) ?? { kind: 'done' };
}

function endOf(said: JsonValue | undefined): Verdict | undefined {
  if (!isJsonObject(said)) return undefined;
  if (said['status'] === 'completed') return { kind: 'run-completed', output: said['output'] ?? null };
  if (said['status'] !== 'failed') return undefined;
  const error = isJsonObject(said['error']) ? said['error'] : {};
  const { message, code } = error;
  return {
    kind: 'run-failed',
    failure: {
      cause: 'error',
      message: typeof message === 'string' ? message : 'the code said that the run failed',
      ...(typeof code === 'string' ? { code } : {}),
    },
  };
}
