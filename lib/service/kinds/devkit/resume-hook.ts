/**
 * Resumes a hook for a caller without the SDK: an operator. It does what `resumeHook()` of the SDK does: it records the payload, and sends
 * the message that makes the code read it.
 */
import { createHash } from 'node:crypto';
import type { WorldRequest } from '../../../engine/devkit/decide.ts';
import type { RunId, Scope } from '../../../engine/ids.ts';
import { type JsonValue, inline } from '../../../engine/json.ts';
import { readRunFold } from '../../run-log/read-run-fold.ts';
import { createWorldEvent } from './events-of-world.ts';
import { flowJobOf } from './jobs.ts';
import { serializeValue } from '../../runs/devkit-values.ts';
import { type World, devKitOf, isDevKit } from './world.ts';
import { type WorldResult, answer, invalid, refused } from './world-error.ts';

export interface HookResumption {
  readonly token: string;
  readonly payload: JsonValue;
  /** a repeated resumption with the same key is recorded once */
  readonly idempotencyKey?: string;
}

export interface ResumedHook {
  readonly runId: RunId;
  readonly hookId: string;
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');
const noHook = refused('hook_not_found', 'no open hook has this token');

export async function resumeHook(
  world: World,
  scope: Scope,
  { token, payload, idempotencyKey }: HookResumption,
): Promise<WorldResult<ResumedHook>> {
  const { deps } = world;
  const claim = await deps.hookTokens.find(scope, token);
  const fold = claim === undefined ? undefined : await readRunFold(deps, { ...scope, runId: claim.runId });
  if (claim === undefined || !isDevKit(fold)) return noHook;
  const { runId, hookId } = claim;
  // The event itself is refused when the run has ended, so that a repetition is still answered.
  const hook = devKitOf(fold).hooks.get(hookId);
  if (hook?.token !== token) return noHook;
  if (hook.isWebhook) return invalid('/token', 'the token is one of a webhook: send a request to its address');

  const bytes = serializeValue(payload);
  const resumeId = idempotencyKey === undefined ? deps.ids.nonce() : `key-${digestOf(idempotencyKey)}`;
  const request: WorldRequest = {
    event: 'hook_received',
    specVersion: hook.specVersion,
    correlationId: hookId,
    data: { token },
    payload: inline({ $bytes: bytes }),
    resumeId,
    resumeDigest: digestOf(bytes),
  };
  const created = await createWorldEvent(world, { run: { ...scope, runId }, request, params: { resolveData: 'none' } });
  if (created.kind === 'refused') return created;
  await deps.jobs.send([flowJobOf(deps, fold.head, `hook#${resumeId}`)]);
  return answer({ runId, hookId });
}
