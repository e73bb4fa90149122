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

export async function handleWorldCall(tools: WorldTools, event: unknown): Promise<WorldAnswer> {
  const { scope, method, body } = callEvent.parse(event).worldCall;
  if (!isWorldMethod(method))
    return { kind: 'refused', status: 404, code: 'not_found', message: `the World has no call ${method}` };
  return callWorld(tools, { scope, trace: newTrace() }, method, body);
}
