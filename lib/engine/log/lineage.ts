/** Which run a run was made from: said in its first commit, so that its head alone can tell. */
import { type RunId, runId, runIdPattern } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { RunCreation } from './head.ts';

const rerunOfKey = '__rerunOf';

export const systemOfRerun = (of: RunId): Readonly<Record<string, JsonValue>> => ({ [rerunOfKey]: of });

/** The run that this one runs again; undefined where it is no rerun. */
export function rerunOf({ commit }: Pick<RunCreation, 'commit'>): RunId | undefined {
  for (const event of commit.events) {
    if (event.type !== 'SYSTEM_SET' || event.key !== rerunOfKey || !('value' in event.value)) continue;
    const { value } = event.value;
    if (typeof value === 'string' && runIdPattern.test(value)) return runId(value);
  }
  return undefined;
}
