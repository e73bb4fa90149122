/** Commits the events that follow from facts about a bundle run, and dispatches their effects. */
import { type BundleFact, decideBundle } from '../../../engine/bundle/decide.ts';
import { type Lane, type Message, messageId } from '../../../engine/bundle/message.ts';
import type { RunId } from '../../../engine/ids.ts';
import type { RunEvent } from '../../../engine/log/events.ts';
import { type AppendResult, append } from '../../run-log/append.ts';
import { dispatchEffects } from '../../commit/dispatch-effects.ts';
import type { Decider } from '../graph/decide-run.ts';
import type { Deps } from '../../deps.ts';
import { measureCommit } from '../../commit/measure-commit.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';

export async function decideBundleRun(
  { deps, by, isAlreadyRecordedBy }: Pick<Decider, 'deps' | 'by' | 'isAlreadyRecordedBy'>,
  fold: RunFold,
  facts: readonly BundleFact[],
): Promise<AppendResult> {
  const { deadlineAt } = fold.head;
  const decideEvents = (): readonly RunEvent[] =>
    decideBundle(fold.state, facts, { now: deps.clock.now(), deadlineAt, random: () => deps.ids.random() });
  const appended = await append(deps, fold, by, decideEvents, isAlreadyRecordedBy);
  if (appended.kind === 'committed') {
    measureCommit(deps, fold, appended.commit);
    await dispatchEffects(deps, fold, appended.commit);
  }
  return appended;
}

/** A message with a new id, or with an id derived from `idSeed`, which the caller generated before. */
export const newMessage = (
  { ids, clock }: Pick<Deps, 'ids' | 'clock'>,
  lane: Lane,
  message: Message,
  idSeed: RunId = ids.runId(clock.now()),
) => ({ id: messageId(lane, idSeed), message });
