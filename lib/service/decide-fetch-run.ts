/** Commits what follows from facts about a fetch run, and carries it out. */
import { type FetchFact, decideFetch } from '../engine/fetch/decide.ts';
import { type Lane, type Message, messageId } from '../engine/fetch/message.ts';
import type { RunId } from '../engine/ids.ts';
import type { RunEvent } from '../engine/log/events.ts';
import { type Appended, append } from './append.ts';
import { carryOut } from './carry-out.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { measureCommit } from './measure-commit.ts';
import type { RunFold } from './read-log.ts';

export async function decideFetchRun(
  { deps, by, isSaidBy }: Pick<Decider, 'deps' | 'by' | 'isSaidBy'>,
  fold: RunFold,
  facts: readonly FetchFact[],
): Promise<Appended> {
  const { deadlineAt } = fold.head;
  const question = (): readonly RunEvent[] =>
    decideFetch(fold.state, facts, { now: deps.clock.now(), deadlineAt, chance: () => deps.ids.chance() });
  const appended = await append(deps, fold, by, question, isSaidBy);
  if (appended.kind === 'committed') {
    measureCommit(deps, fold, appended.commit);
    await carryOut(deps, fold, appended.commit);
  }
  return appended;
}

/** A message with an id of its own, or with the one that was drawn for it before. */
export const newMessage = (
  { ids, clock }: Pick<Deps, 'ids' | 'clock'>,
  lane: Lane,
  message: Message,
  drawn: RunId = ids.runId(clock.now()),
) => ({ id: messageId(lane, drawn), message });
