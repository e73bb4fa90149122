/** Finds what a rerun of a code run starts: its workflow from the beginning, or from a step with the log before it. */
import { rerunFromStep } from '../../../engine/durable/rerun-from-step.ts';
import { firstCommit } from '../../../engine/ids.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import type { CodeHead } from '../../../engine/log/head.ts';
import { rerunSystemValues } from '../../../engine/log/lineage.ts';
import type { Decider } from '../../decider.ts';
import { readCommits, readRunFold } from '../../run-log/read-run-fold.ts';
import type { RerunRequest, ResolvedRerun } from '../../runs/rerun-run.ts';
import { resolveDeployedRerun } from '../deployed-run.ts';
import { hasLargeValue } from './copy-log.ts';

/** Offloaded values that a rerun copies: each takes two requests to the bucket, and the API request may take 29 s. */
export const maxCopiedValues = 1_000;

export async function resolveCodeRerun(
  decider: Decider,
  head: CodeHead,
  { from, results, ...request }: RerunRequest,
): Promise<ResolvedRerun> {
  const { deps } = decider;
  const { sourceRun } = request;
  const found = await resolveDeployedRerun(decider, head, request);
  if (found.kind !== 'found') return found;
  if (from === undefined) return results === undefined ? found : { kind: 'results_not_kept', steps: Object.keys(results) };
  const earlier = await readRunFold(deps, sourceRun);
  // The run expired while it was read.
  if (earlier === undefined || head.expiresAt <= deps.clock.now()) return { kind: 'not_found' };
  if (!isTerminal(earlier.state.progress)) return { kind: 'run_open' };
  const commits = [head.commit, ...(await readCommits(deps, earlier, firstCommit))];
  const history = rerunFromStep(commits, { from, results: results ?? {} });
  if (history.kind !== 'history') return history;
  const values = history.entries.filter(hasLargeValue).length;
  if (values > maxCopiedValues) return { kind: 'too_many_values', values, limit: maxCopiedValues };
  return {
    ...found,
    system: rerunSystemValues(sourceRun.runId, history.from),
    copied: { from: sourceRun, entries: history.entries },
  };
}
