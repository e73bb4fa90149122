/** Takes results of many siblings together and decides each run's in one commit. */
import { mostDirectSiblings } from '../engine/graph/advance.ts';
import type { RunAddress } from '../engine/ids.ts';
import { type RunState, isTerminal } from '../engine/log/fold.ts';
import { pinnedVersion } from '../engine/log/head.ts';
import { durationMs } from '../engine/time.ts';
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
  if (isWorthWaiting(results.length, fold.state.open.size + passesToCome(fold.state))) await collector.deps.clock.sleep(linger);
  const appended = isTerminal(fold.state.progress)
    ? { kind: 'nothing' as const }
    : await decideRun(
        collector,
        fold,
        await collector.plans.of(collector.deps, run, pinnedVersion(fold.head)),
        results.map(({ run: _run, commit: _commit, trace: _trace, nodeId, iteration, ...ended }) => ({
          kind: 'node-ended',
          node: { nodeId, iteration },
          ...ended,
        })),
      );
  if (appended.kind === 'nothing' && isRedelivered) await mendAndHandOn(collector, fold);
  else await saveSnapshot(collector.deps, fold);
  collector.folds.keep(fold);
}

/** What SQS hands over at once at most: a batch this full needs no waiting. */
const fullBatch = 10;
/**
 * Long enough for the results of siblings to gather behind this batch, whose group is locked meanwhile: measured with a
 * hundred branches whose results trickle in, 25 ms gave 22 commits and 50 ms gave 15, where none gave up to 33.
 */
const linger = durationMs(50);

/** A small batch, and many siblings yet to come: a commit saved costs less than the time. */
const isWorthWaiting = (results: number, expected: number): boolean =>
  results < fullBatch && expected - results > mostDirectSiblings;

/** A loop at work has siblings to come that are not asked for yet, and each commit of few results asks for as few of them. */
const passesToCome = (state: RunState): number =>
  [...state.open.keys()].reduce((sum, key) => {
    const node = state.nodes.get(key);
    return node?.status === 'waiting' && node.for === 'passes' ? sum + node.loop.items - node.loop.next : sum;
  }, 0);

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
