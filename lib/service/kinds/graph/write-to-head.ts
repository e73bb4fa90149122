/**
 * Writes results to the head of a run. The first pack of a run that its start has prepared and not written is a part of commit 1: a run of
 * scripts in a row is then one write, and its conditional put decides who creates the run, the worker or a request of the same key
 * (docs/decisions/answer-in-one-request.md). The head of a short run holds commit 2 (docs/decisions/commit-two-in-the-head.md).
 */
import { pack, packedBytes } from '../../../codec/packed.ts';
import type { Fact } from '../../../engine/graph/facts.ts';
import type { Plan } from '../../../engine/graph/plan.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import type { Head } from '../../../engine/log/head.ts';
import { instant } from '../../../engine/time.ts';
import { measureCommit } from '../../commit/append-facts.ts';
import { dispatchEffects } from '../../commit/dispatch-effects.ts';
import { endRecordedByHead, endRecordedWith } from '../../commit/finalize-run.ts';
import type { Decider } from '../../decider.ts';
import { isWon, putUntilOutcomeKnown } from '../../run-log/append.ts';
import { CommitTooLarge, offloadEvents } from '../../run-log/payloads.ts';
import { type RunFold, advanceFold, readTail, unwrittenFold } from '../../run-log/read-run-fold.ts';
import { type DraftCommitted, commitDrafted } from './decide-run.ts';

/**
 * In bytes, of the events of a head whose run goes on, as they are stored. Each later update of the head is billed by its size, so larger
 * results have a commit of their own.
 */
const maxEventsInOpenHead = 500;
/** The same of a head that nothing updates. Lists read heads: below 4 KB, each is one read unit. */
const maxEventsInEndedHead = 3_500;

/** @param isEnded the write with these events records the end of the run */
const fitsHead = (events: Commit['events'], isEnded: boolean): boolean =>
  packedBytes(pack(events)) <= (isEnded ? maxEventsInEndedHead : maxEventsInOpenHead);

/** A pack of several results. */
export interface DraftedPack {
  readonly first: Fact;
  readonly events: Commit['events'];
  /** how many of them the first result has */
  readonly firstEvents: number;
  /** the fold with the events */
  readonly draft: RunFold;
  /** whether the events are still what follows from the log */
  readonly isCurrent: () => boolean;
}

/** Commits the pack as commit 2, which the head holds. If it is too large for the head, all but its first result are commit 3. */
export async function writeSecondCommit(
  decider: Decider,
  fold: RunFold,
  plan: Plan,
  { first, events, firstEvents, draft, isCurrent }: DraftedPack,
): Promise<DraftCommitted> {
  const fits = fitsHead(events, endRecordedByHead(decider.deps, draft) !== undefined);
  const [held, rest] = fits ? [events, []] : [events.slice(0, firstEvents), events.slice(firstEvents)];
  const { appended, isWhole } = await commitDrafted(decider, fold, plan, first, () => (isCurrent() ? held : undefined));
  if (fits || appended.kind !== 'committed' || !isWhole) return { appended, isWhole: fits && isWhole };
  const { number } = appended.commit;
  return commitDrafted(decider, fold, plan, first, () => (fold.state.asOf === number ? rest : undefined));
}

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

/** For results that are too large for the head. They become commit 2, which must then be an item of its own. */
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
