/** Takes results of many siblings together and decides each run's in one commit (DESIGN trip C). */
import type { RunAddress } from '../engine/ids.ts';
import { isTerminal } from '../engine/log/fold.ts';
import type { ResultMessage } from '../ports/jobs.ts';
import { type Decider, decideRun } from './decide-run.ts';
import { mendAndHandOn } from './nudge-run.ts';
import { saveSnapshot } from './read-log.ts';
import type { WarmFolds } from './warm-folds.ts';

/** All results of one run. A queue's batch may mix runs; `byRun` parts them. */
export interface RunResults {
  readonly run: RunAddress;
  readonly results: readonly ResultMessage[];
  readonly isRedelivered: boolean;
}

export async function collectResults(
  collector: Decider & { readonly folds: WarmFolds },
  { run, results, isRedelivered }: RunResults,
): Promise<void> {
  const newest = results.reduce<ResultMessage | undefined>(
    (best, each) => (best === undefined || each.commit > best.commit ? each : best),
    undefined,
  );
  if (newest === undefined) return;
  const fold = await collector.folds.take(collector.deps, run, { atLeast: newest.commit, isFresh: isRedelivered });
  if (fold === undefined) return;
  const plan = await collector.plans.of(collector.deps, run, fold.head.workflow);
  const appended = isTerminal(fold.state.progress)
    ? { kind: 'nothing' as const }
    : await decideRun(
        collector,
        fold,
        plan,
        results.map(({ run: _run, commit: _commit, nodeId, iteration, ...ended }) => ({
          kind: 'node-ended',
          node: { nodeId, iteration },
          ...ended,
        })),
      );
  if (appended.kind === 'nothing' && isRedelivered) await mendAndHandOn(collector.deps, fold);
  else await saveSnapshot(collector.deps, fold);
  collector.folds.keep(fold);
}

/** The results of a batch, parted by run, in the order in which they came. */
export function byRun(
  received: readonly { readonly result: ResultMessage; readonly isRedelivered: boolean }[],
): readonly RunResults[] {
  const runs = new Map<string, { run: RunAddress; results: ResultMessage[]; isRedelivered: boolean }>();
  for (const { result, isRedelivered } of received) {
    const name = `${result.run.projectId}#${result.run.environment}#${result.run.runId}`;
    const entry = runs.get(name) ?? { run: result.run, results: [], isRedelivered: false };
    entry.results.push(result);
    entry.isRedelivered ||= isRedelivered;
    runs.set(name, entry);
  }
  return [...runs.values()];
}
