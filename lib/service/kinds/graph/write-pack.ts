/** Writes a pack: with the head of a run that is not in the log, in one commit, or in two where the head would hold too much. */
import type { Plan } from '../../../engine/graph/plan.ts';
import type { CommitNo } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import type { RunEvent } from '../../../engine/log/events.ts';
import { isHeldByHead } from '../../../engine/log/head.ts';
import { endRecordedByHead } from '../../commit/finalize-run.ts';
import type { Decider } from '../../decider.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';
import type { NodeEnded } from './attempt-node.ts';
import { type DraftCommitted, commitDrafted } from './decide-run.ts';
import { fitsHead } from './head-size.ts';
import { writeNewRun } from './write-new-run.ts';

export interface DraftedPack {
  /** of its commit */
  readonly number: CommitNo;
  /** undefined: it has no result yet, and creates the run */
  readonly first: NodeEnded | undefined;
  readonly events: readonly RunEvent[];
  /** how many of them the first result has, with the creation */
  readonly firstEvents: number;
  /** the fold with the events */
  readonly draft: RunFold;
  /** whether the events are still what follows from the log */
  readonly isCurrent: () => boolean;
}

export async function writePack(decider: Decider, fold: RunFold, plan: Plan, pack: DraftedPack): Promise<DraftCommitted> {
  const { first, events, isCurrent } = pack;
  const drafted = (): readonly RunEvent[] | undefined => (isCurrent() ? events : undefined);
  if (fold.state.asOf === 0) return writeNewRun(decider, fold, plan, first, drafted);
  invariant(first !== undefined, 'a pack without a result has nothing to commit');
  return isTooLargeForHead(decider, fold, pack)
    ? writeInTwo(decider, fold, plan, { ...pack, first })
    : commitDrafted(decider, fold, plan, first, drafted);
}

/** Whether the head would hold more than it may, although the first result alone is smaller. */
function isTooLargeForHead({ deps }: Decider, { head }: RunFold, { number, events, firstEvents, draft }: DraftedPack): boolean {
  if (!isHeldByHead(head, { number }) || events.length === firstEvents) return false;
  return !fitsHead(events, endRecordedByHead(deps, draft) !== undefined);
}

/** The head holds the first result, and the others have a commit of their own. */
async function writeInTwo(
  decider: Decider,
  fold: RunFold,
  plan: Plan,
  { first, events, firstEvents, isCurrent }: DraftedPack & { readonly first: NodeEnded },
): Promise<DraftCommitted> {
  const [held, rest] = [events.slice(0, firstEvents), events.slice(firstEvents)];
  const { appended, isWhole } = await commitDrafted(decider, fold, plan, first, () => (isCurrent() ? held : undefined));
  if (appended.kind !== 'committed' || !isWhole) return { appended, isWhole: false };
  const { number } = appended.commit;
  return commitDrafted(decider, fold, plan, first, () => (fold.state.asOf === number ? rest : undefined));
}
