/** Maps the end of a script to a failure of its node. */
import { defined } from '../../base/defined.ts';
import type { Failure } from '../../engine/log/events.ts';
import type { FailureCause } from '../../engine/retry.ts';
import type { ScriptEnd, ScriptErrorCode } from './script.ts';

/** A result that cannot be stored is not retried. Other failures may depend on time or random values. */
const causes = {
  script_threw: 'error',
  script_timeout: 'timeout',
  memory_exceeded: 'error',
  recursion_exceeded: 'error',
  output_too_large: 'invalid',
  output_too_deep: 'invalid',
  output_invalid: 'invalid',
  sandbox_failed: 'error',
} as const satisfies Record<ScriptErrorCode, FailureCause>;

export const scriptFailure = ({
  errorCode,
  message,
  line,
  column,
  timeoutMs,
  path,
}: Extract<ScriptEnd, { kind: 'stopped' }>): Failure => {
  const failure = { cause: causes[errorCode], code: errorCode, message };
  if (path !== undefined) return { ...failure, details: { path } };
  if (timeoutMs !== undefined) return { ...failure, details: { timeoutMs } };
  return line === undefined ? failure : { ...failure, details: defined({ line, column }) };
};
