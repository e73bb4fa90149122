/** Takes results of many siblings, and ends of many runs that were called, together: each run's are decided in one commit. */
import { defined } from '../../engine/defined.ts';
import { maxDirectSiblings } from '../../engine/graph/advance.ts';
import { type RunAddress, nodeKey } from '../../engine/ids.ts';
import { type RunState, isTerminal, openNodes } from '../../engine/log/fold.ts';
import { pinnedVersion } from '../../engine/log/head.ts';
import { openNodeAt } from '../../engine/log/open-node-at.ts';
import { type DurationMs, type Instant, between, durationMs, seconds } from '../../engine/time.ts';
import type { Fact } from '../../engine/graph/facts.ts';
import type { ResultMessage } from '../../ports/jobs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { recordingAttemptErrors } from './admit-attempt.ts';
import type { AppendResult } from '../run-log/append.ts';
import { commitWithRecheck } from '../commit/commit-with-recheck.ts';
import { readChildEnd } from '../runs/read-child-end.ts';
import { decideCodeRun } from '../commit/decide-code-run.ts';
import { type Decider, decideRun } from '../commit/decide-run.ts';
import { recoverAndRecheck } from './recheck-run.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';
import { saveSnapshot } from '../run-log/snapshots.ts';
import type { FoldCache } from '../run-log/fold-cache.ts';

/** All results of one run. A queue's batch may mix runs; `byRun` parts them. */
export interface RunResults {
  readonly run: RunAddress;
  readonly results: readonly ResultMessage[];
  readonly isRedelivered: boolean;
  /** other runs' results came with them, whose groups are locked as long as this one's */
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
  // What could be read is told by now: one run that is out of reach does not hold up the ends of the others.
  if (error !== undefined) throw error;
  // Also where new results came with those that came back: what was decided about these may not have been sent.
  if (isRedelivered) await recoverAndRecheck(collector, fold);
  if (appended.kind === 'committed' || !isRedelivered) await saveSnapshot(collector.deps, fold);
  collector.foldCache.put(fold);
  // The run's group is locked until this ends: what comes meanwhile is the next batch, and decided together.
  if (appended.kind === 'committed' && isWorthWaiting(fold.state, results.length)) await collector.deps.clock.sleep(linger);
}

interface Found {
  readonly facts: readonly ResultFact[];
  /** why one of them, or more, could not be read */
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

/** Decides them together, or, where that throws, one by one: what one of them brings must not hold up the others. */
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

async function commitTogether(collector: Decider, fold: RunFold, facts: readonly ResultFact[]): Promise<AppendResult> {
  const ends = facts.filter((fact) => fact.kind === 'child-ended');
  const { head } = fold;
  if (head.kind === 'code') return commitWithRecheck(collector, fold, () => decideCodeRun(collector, fold, ends));
  const plan = await collector.plans.of(collector.deps, head.address, pinnedVersion(head));
  const decide = (): Promise<AppendResult> => decideRun(collector, fold, plan, facts);
  // Whoever waits for runs alone may be looked at in hours only.
  return ends.length === 0 ? decide() : commitWithRecheck(collector, fold, decide);
}

type ResultFact = Extract<Fact, { kind: 'node-ended' | 'child-ended' }>;

/** @returns undefined where there is nothing to be told any more: the run that was called is forgotten */
async function readFact({ deps }: Decider, result: ResultMessage): Promise<ResultFact | undefined> {
  const { run, commit: _commit, trace: _trace, nodeId, iteration, ...ended } = result;
  const node = { nodeId, iteration };
  if (!('childRunId' in ended)) return { kind: 'node-ended', node, ...ended };
  const child = await readRunFold(deps, { ...run, runId: ended.childRunId });
  const end = child === undefined ? undefined : await readChildEnd(deps, child);
  return end === undefined ? undefined : { kind: 'child-ended', node, ...ended, end };
}

/** What SQS hands over at once at most. */
const fullBatch = 10;
/**
 * Long enough for the results of siblings to gather: measured with a hundred branches whose results trickle in, 25 ms gave 22
 * commits and 50 ms gave 15, where none gave up to 33.
 */
const minLinger = durationMs(50);
/** Siblings that have taken long end far apart, and a twentieth more of the time of each is soon forgotten. */
const shareOfAge = 0.05;
/** Whoever watches should see what has ended; and with fewer than four ends in a second, the function's time costs more than commits. */
const maxLinger = seconds(2);

/** By the youngest of them: none is held up by more than its share, however old the others are. */
function lingerFor({ nodes }: RunState, results: readonly ResultMessage[], now: Instant): DurationMs {
  const ages = results.flatMap((result) => {
    const node = nodes.get(nodeKey(result));
    return node !== undefined && 'dispatchedAt' in node ? [between(node.dispatchedAt, now)] : [];
  });
  const youngest = ages.length === 0 ? 0 : Math.min(...ages);
  return durationMs(Math.min(Math.max(minLinger, Math.round(youngest * shareOfAge)), maxLinger));
}

/** The queue held no more than a small batch, and many siblings are yet to come: a commit saved costs less than the time. */
const isWorthWaiting = (state: RunState, taken: number): boolean =>
  taken < fullBatch && state.open.size + iterationsToCome(state) > maxDirectSiblings;

/** A loop at work has siblings to come that are not asked for yet, and each commit of few results asks for as few of them. */
const iterationsToCome = (state: RunState): number =>
  openNodes(state).reduce(
    (sum, node) => (node.status === 'waiting' && node.for === 'iterations' ? sum + node.loop.items - node.loop.next : sum),
    0,
  );

/** The results of a batch, parted by run, in the order in which they came. */
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
