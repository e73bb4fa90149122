/** Turns a result of the World into a response: the names of its refusals are error codes of the API. */
import { defined } from '../../../lib/base/defined.ts';
import type { WorldErrorCode, WorldResult } from '../../../lib/service/kinds/devkit/world-error.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import { type Refusal, refuse } from '../operation.ts';

type PassedCode = Exclude<WorldErrorCode, 'deployment_not_found' | 'unavailable'>;
export type WorldRefusalCode = PassedCode | 'world_deployment_not_found';

/** @throws Unavailable for a call that may succeed at once when it is repeated */
export function worldResponse<Value extends object>(
  result: WorldResult<Value>,
): { readonly status: 200; readonly body: Value } | Refusal<WorldRefusalCode> {
  if (result.kind === 'answered') return { status: 200, body: result.value };
  if (result.code === 'invalid_request') {
    const { code, pointer, message } = result;
    return refuse(code, { errors: [{ pointer, code, message }] });
  }
  const { code, message, retryAfterSeconds } = result;
  if (code === 'unavailable') throw new Unavailable(message);
  const details = defined({ message, retryAfter: retryAfterSeconds });
  const headers = retryAfterSeconds === undefined ? {} : { headers: { 'retry-after': String(retryAfterSeconds) } };
  return { ...refuse(code === 'deployment_not_found' ? 'world_deployment_not_found' : code, details), ...headers };
}
