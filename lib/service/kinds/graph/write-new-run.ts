/**
 * Writes the head of a run that its start has prepared and not written. The head contains the results that the worker has held back, so
 * a run of scripts in a row is one write. A conditional put decides who creates the run: the worker, or a request of the same key
 * (docs/decisions/answer-in-one-request.md).
 */
import type { Fact } from '../../../engine/graph/facts.ts';
import type { Plan } from '../../../engine/graph/plan.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import type { Head } from '../../../engine/log/head.ts';
import { instant } from '../../../engine/time.ts';
import { measureCommit } from '../../commit/append-facts.ts';
import { dispatchEffects } from '../../commit/dispatch-effects.ts';
import { endRecordedWith } from '../../commit/finalize-run.ts';
import type { Decider } from '../../decider.ts';
import { isWon, putUntilOutcomeKnown } from '../../run-log/append.ts';
import { CommitTooLarge, offloadEvents } from '../../run-log/payloads.ts';
import { type RunFold, advanceFold, readTail, unwrittenFold } from '../../run-log/read-run-fold.ts';
import { type DraftCommitted, commitDrafted } from './decide-run.ts';
import { fitsHead } from './head-size.ts';

/**
 * Creates the run with the drafted events, or as its start has prepared it. It dispatches the effects of what it writes.
 * @param fold of a run that is not in the log; afterwards as the log, if the run of this start exists
 * @param first the first result; undefined: there is none yet
 * @param drafted the events of the creation and of the results; undefined if they may not be committed any more
 */
export async function writeNewRun(
  decider: Decider,
  fold: RunFold,
  plan: Plan,
  first: Fact | undefined,
  drafted: () => Commit['events'] | undefined,
): Promise<DraftCommitted> {
  // An earlier call has written or found the head, and could not dispatch its effects.
  if (fold.state.asOf !== 0) return { appended: { kind: 'nothing' }, isWhole: false };
  const prepared = fold.head;
  const whole = await withDrafted(decider, prepared, drafted());
  const ended = whole === undefined ? undefined : endRecordedWith(decider.deps, unwrittenFold(whole), whole.commit);
  const isApart = first !== undefined && whole !== undefined && !fitsHead(whole.commit.events, ended !== undefined);
  const head = isApart ? withoutSecondCommit(prepared) : (whole ?? prepared);
  const projection = isApart ? undefined : ended;
  const result = await putUntilOutcomeKnown(decider.deps, () => decider.deps.log.create(head, projection));
  if (result.kind === 'occupied') {
    if (isWon(result, prepared.commit)) await followWritten(decider, fold);
    return { appended: { kind: 'nothing' }, isWhole: false };
  }
  const { commit } = head;
  fold.head = projection === undefined ? head : { ...head, projection };
  advanceFold(fold, commit);
  measureCommit(decider.deps, fold, commit, (id) => plan.nodes.get(id)?.type);
  await dispatchEffects(decider, fold, commit);
  if (!isApart) return { appended: { kind: 'committed', commit, lostPuts: 0 }, isWhole: whole !== undefined };
  const rest = whole.commit.events.slice(commit.events.length);
  return commitDrafted(decider, fold, plan, first, () => (fold.state.asOf === commit.number ? rest : undefined));
}

/** The results are a commit of their own because they are large, and so would be its part of the head. */
const withoutSecondCommit = (head: Head): Head => {
  if (head.kind !== 'graph') return head;
  const { holdsSecondCommit: _isInHead, ...rest } = head;
  return rest;
};

/** The head with the drafted events as its first commit; undefined if they may not or cannot be committed. */
async function withDrafted(
  { deps, by }: Decider,
  prepared: Head,
  drafted: Commit['events'] | undefined,
): Promise<Head | undefined> {
  if (drafted === undefined) return undefined;
  try {
    const events = await offloadEvents(deps, prepared, drafted);
    // Not before the creation, also if the clocks of the two processes differ.
    const at = instant(Math.max(deps.clock.now(), prepared.commit.at));
    return { ...prepared, commit: { ...prepared.commit, events, at, by } };
  } catch (error) {
    // The nodes run again after the creation, and the commit of their results decides what follows.
    if (!(error instanceof CommitTooLarge)) throw error;
    return undefined;
  }
}

/**
 * Another process has created the run, or an earlier try of this put whose answer was lost. Which one is not known, so this worker runs
 * nothing more: the process that created the run does, or the sweep. The effects are dispatched by both.
 */
async function followWritten(decider: Decider, fold: RunFold): Promise<void> {
  const written = await decider.deps.log.head(fold.head.address);
  // It has been deleted already.
  if (written === undefined) return;
  fold.head = written;
  advanceFold(fold, written.commit);
  await dispatchEffects(decider, fold, written.commit);
  await readTail(decider.deps, fold);
}
