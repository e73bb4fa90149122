/** Which run a run was made from: said in its first commit, so that its head alone can tell. */
import { type NodeId, type RunId, nodeId, nodeIdPattern, runId, runIdPattern } from '../ids.ts';
import type { JsonValue } from '../json.ts';
import type { RunCreation } from './head.ts';

const rerunOfKey = '__rerunOf';
const rerunFromKey = '__rerunFrom';

export const systemOfRerun = (of: RunId, from?: NodeId): Readonly<Record<string, JsonValue>> => ({
  [rerunOfKey]: of,
  ...(from === undefined ? {} : { [rerunFromKey]: from }),
});

/** The run that this one runs again; undefined where it is no rerun. */
export function rerunOf(run: Pick<RunCreation, 'commit'>): RunId | undefined {
  const value = said(run, rerunOfKey);
  return value !== undefined && runIdPattern.test(value) ? runId(value) : undefined;
}

/** The node that this run went on from; undefined where it began anew. */
export function rerunFrom(run: Pick<RunCreation, 'commit'>): NodeId | undefined {
  const value = said(run, rerunFromKey);
  return value !== undefined && nodeIdPattern.test(value) ? nodeId(value) : undefined;
}

function said({ commit }: Pick<RunCreation, 'commit'>, key: string): string | undefined {
  for (const event of commit.events) {
    if (event.type !== 'SYSTEM_SET' || event.key !== key || !('value' in event.value)) continue;
    const { value } = event.value;
    if (typeof value === 'string') return value;
  }
  return undefined;
}
