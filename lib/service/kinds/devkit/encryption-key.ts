/** Answers the key of a run. A key of the API with the scope of the World may read the values of all runs of its project and environment. */
import { type Scope, runId as toRunId, runIdPattern } from '../../../engine/ids.ts';
import type { JsonObject } from '../../../engine/json.ts';
import { keyOfRun } from './run-keys.ts';
import type { World } from './world.ts';
import { type WorldResult, answer, noRun, refused } from './world-error.ts';

/** The run may not exist yet: its input is encrypted before its start. */
export async function encryptionKey(
  { runKeys }: Pick<World, 'runKeys'>,
  scope: Scope,
  runId: string,
): Promise<WorldResult<{ readonly key: JsonObject | null }>> {
  if (!runIdPattern.test(runId)) return noRun;
  const found = await keyOfRun(runKeys, { ...scope, runId: toRunId(runId) });
  if (found.kind === 'off') return answer({ key: null });
  if (found.kind === 'unusable') return refused('unavailable', found.reason);
  return answer({ key: { $bytes: Buffer.from(found.key).toString('base64') } });
}
