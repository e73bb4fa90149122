/** Calls of the World by an invocation of its function. Only the code function has the permission to invoke it. */
import * as z from 'zod';
import { environment, projectId } from '../../lib/codec/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import type { WorldAnswer } from '../../lib/ports/world-calls.ts';
import { callWorld, isWorldMethod, newTrace } from '../api/operations/call-world.ts';
import type { WorldTools } from '../api/operations/world-calls.ts';

const jsonValue = z.json().transform((value): JsonValue => value);
const callEvent = z.object({
  worldCall: z.object({ scope: z.object({ projectId, environment }), method: z.string(), body: jsonValue }),
});

/** API Gateway sets the fields of its events, so a caller cannot imitate a call of the code function. */
export const isWorldCall = (event: object): boolean => 'worldCall' in event;

/** A text in the answer of an invocation would need escapes, and might exceed the largest answer. */
type InvocationAnswer =
  | Exclude<WorldAnswer, { readonly kind: 'answered' }>
  | { readonly kind: 'answered'; readonly value: JsonValue };

export async function handleWorldCall(tools: WorldTools, event: unknown): Promise<InvocationAnswer> {
  const { scope, method, body } = callEvent.parse(event).worldCall;
  if (!isWorldMethod(method))
    return { kind: 'refused', status: 404, code: 'not_found', message: `the World has no call ${method}` };
  const answer = await callWorld(tools, { scope, trace: newTrace() }, method, body);
  return answer.kind === 'answered' ? { kind: 'answered', value: JSON.parse(answer.json) } : answer;
}
