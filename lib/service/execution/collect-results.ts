/** Collects the results of a wide fan-out: node results and ends of child runs. It commits all results of one run in one commit. */
import { defined } from '../../base/defined.ts';
import { maxDirectSiblings } from '../../engine/graph/dispatch.ts';
import type { Fact } from '../../engine/graph/facts.ts';
import { type RunAddress, nodeKey } from '../../engine/ids.ts';
import { type RunState, isTerminal, openNodes } from '../../engine/log/fold.ts';
import { openNodeAt } from '../../engine/log/open-nodes.ts';
import { type DurationMs, type Instant, between, durationMs, seconds } from '../../engine/time.ts';
import type { ResultMessage } from '../../ports/jobs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { notifyRun } from '../commit/commit-facts.ts';
import { commitWithDueEntry } from '../commit/commit-with-due-entry.ts';
import type { Decider } from '../decider.ts';
import type { AppendResult } from '../run-log/append.ts';
import type { FoldCache } from '../run-log/fold-cache.ts';
import { type RunFold, readRunFold, readTail } from '../run-log/read-run-fold.ts';
import { saveSnapshot } from '../run-log/snapshots.ts';
import { readChildEnd } from '../runs/child-run.ts';
import { recordingAttemptErrors } from './admit-attempt.ts';
import { recoverAndRecheck } from './recheck-run.ts';

/** All results of one run. A queue's batch may mix runs; `byRun` groups them. */
export interface RunResults {
  readonly run: RunAddress;
  readonly results: readonly ResultMessage[];
  readonly isRedelivered: boolean;
  /** the batch also contains results of other runs, whose message groups stay locked as long as this run's */
  readonly isMixed: boolean;
}

export async function collectResults(
  collector: Decider & { readonly foldCache: FoldCache },
  { run, results, isRedelivered, isMixed }: RunResults,
): Promise<void> {
  const newest = results.reduce<ResultMessage | undefined>(
    (best, each) => (best === undefined || each.commit > best.commit ? each : best),
    undefined,
  );
  if (newest === undefined) return;
  const fold = await collector.foldCache.take(collector.deps, run, { minCommit: newest.commit, mustBeFresh: isRedelivered });
  if (fold === undefined) return;
  const linger = isMixed ? minLinger : lingerFor(fold.state, results, collector.deps.clock.now());
  const { facts, error } = isTerminal(fold.state.progress) ? { facts: [] } : await readFacts(collector, results);
  const appended = facts.length === 0 ? { kind: 'nothing' as const } : await commitFacts(collector, fold, facts);
  // The readable results are committed by now. One unreadable child run does not delay the others.
  if (error !== undefined) throw error;
  // Also when the batch contains new results: the effects of the redelivered results may not have been dispatched.
  if (isRedelivered) await recoverAndRecheck(collector, fold);
  if (appended.kind === 'committed' || !isRedelivered) await saveSnapshot(collector.deps, fold);
  collector.foldCache.put(fold);
  // The run's message group is locked until this returns. Results that arrive meanwhile form the next batch.
  if (appended.kind === 'committed' && isWorthWaiting(fold.state, results.length)) await collector.deps.clock.sleep(linger);
}

interface Found {
  readonly facts: readonly ResultFact[];
  /** the first error, if any of them could not be read */
  readonly error?: unknown;
}

async function readFacts(collector: Decider, results: readonly ResultMessage[]): Promise<Found> {
  const found = await Promise.allSettled(results.map((result) => readFact(collector, result)));
  const failedRead = found.find((each) => each.status === 'rejected');
  return defined({
    facts: found.flatMap((each) => (each.status === 'fulfilled' && each.value !== undefined ? [each.value] : [])),
    error: failedRead === undefined ? undefined : failedRead.reason,
  });
}

/** Commits the facts together. If that throws, it commits them one by one, so that one bad result does not block the others. */
async function commitFacts(collector: Decider, fold: RunFold, facts: readonly ResultFact[]): Promise<AppendResult> {
  const [only, ...more] = facts;
  if (only === undefined) return { kind: 'nothing' };
  if (more.length === 0) {
    const open = openNodeAt(fold.state, only.node, only.attempt);
    const act = (): Promise<AppendResult> => commitTogether(collector, fold, facts);
    return open === undefined ? act() : recordingAttemptErrors(collector, fold, open, act);
  }
  try {
    return await commitTogether(collector, fold, facts);
  } catch (thrown) {
    if (thrown instanceof Unavailable) throw thrown;
    let last: AppendResult = { kind: 'nothing' };
    const failed: unknown[] = [];
    for (const fact of facts) {
      try {
        last = await commitFacts(collector, fold, [fact]);
      } catch (error) {
        failed.push(error);
      }
    }
    if (failed.length > 0) throw failed[0];
    return last;
  }
}

function commitTogether(collector: Decider, fold: RunFold, facts: readonly ResultFact[]): Promise<AppendResult> {
  const commit = async (): Promise<AppendResult> => {
    // A workflow task commits to the same log, and a read costs a fifth of a lost put.
    if (fold.head.kind === 'code') await readTail(collector.deps, fold);
    return notifyRun(collector, fold, facts);
  };
  // A run that waits only for child runs may not be due for a check for hours.
  return facts.some(({ kind }) => kind === 'child-ended') ? commitWithDueEntry(collector, fold, commit) : commit();
}

type ResultFact = Extract<Fact, { kind: 'node-ended' | 'child-ended' }>;

/** @returns undefined if the child run is deleted or has not ended */
async function readFact({ deps }: Decider, result: ResultMessage): Promise<ResultFact | undefined> {
  const { run, commit: _commit, trace: _trace, nodeId, iteration, ...ended } = result;
  const node = { nodeId, iteration };
  if (!('childRunId' in ended)) return { kind: 'node-ended', node, ...ended };
  const child = await readRunFold(deps, { ...run, runId: ended.childRunId });
  const end = child === undefined ? undefined : await readChildEnd(deps, child);
  return end === undefined ? undefined : { kind: 'child-ended', node, ...ended, end };
}

/** Maximum size of an SQS batch. */
const fullBatch = 10;
/**
 * Lets the results of siblings accumulate. Measured with a hundred branches that end one after the other: no wait gave up to 33
 * commits, 25 ms gave 22, and 50 ms gave 15.
 */
const minLinger = durationMs(50);
/** Share of a sibling's run time. Siblings that run long end far apart, and 5 % more time is acceptable. */
const shareOfAge = 0.05;
/** Keeps progress visible to watchers. Below about four results a second, the function's time costs more than the saved commits. */
const maxLinger = seconds(2);

/** The youngest sibling sets the wait, so that no result is delayed by more than its share. */
function lingerFor({ nodes }: RunState, results: readonly ResultMessage[], now: Instant): DurationMs {
  const ages = results.flatMap((result) => {
    const node = nodes.get(nodeKey(result));
    return node !== undefined && 'dispatchedAt' in node ? [between(node.dispatchedAt, now)] : [];
  });
  const youngest = ages.length === 0 ? 0 : Math.min(...ages);
  return durationMs(Math.min(Math.max(minLinger, Math.round(youngest * shareOfAge)), maxLinger));
}

/** Whether a wait saves commits: the queue had no full batch, and many siblings have not ended yet. */
const isWorthWaiting = (state: RunState, taken: number): boolean =>
  taken < fullBatch && state.open.size + iterationsToCome(state) > maxDirectSiblings;

/** Iterations of running loops that are not dispatched yet. A commit with few results dispatches only as many of them. */
const iterationsToCome = (state: RunState): number =>
  openNodes(state).reduce(
    (sum, node) => (node.status === 'waiting' && node.for === 'iterations' ? sum + node.loop.items - node.loop.next : sum),
    0,
  );

/** Groups the results of a batch by run, in the order of arrival. */
export function byRun(
  received: readonly { readonly result: ResultMessage; readonly isRedelivered: boolean }[],
): readonly RunResults[] {
  const runs = new Map<string, Pick<RunResults, 'run'> & { results: ResultMessage[]; isRedelivered: boolean }>();
  for (const { result, isRedelivered } of received) {
    const name = `${result.run.projectId}#${result.run.environment}#${result.run.runId}`;
    const entry = runs.get(name) ?? { run: result.run, results: [], isRedelivered: false };
    entry.results.push(result);
    entry.isRedelivered ||= isRedelivered;
    runs.set(name, entry);
  }
  return [...runs.values()].map((each) => ({ ...each, isMixed: runs.size > 1 }));
}
