/** Commits what follows from facts about a code run, and carries it out. */
import { decideCode } from '../engine/durable/decide.ts';
import type { CodeFact, CodeTools } from '../engine/durable/facts.ts';
import type { Failure, RunEvent } from '../engine/log/events.ts';
import type { Head } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import { type Appended, append } from './append.ts';
import { carryOut } from './carry-out.ts';
import { childRunId } from './child-run-id.ts';
import type { Decider } from './decide-run.ts';
import { measureCommit } from './measure-commit.ts';
import type { RunFold } from './read-log.ts';

/** What others tell a run. Whoever loses a put decides anew: only a turn of the code itself must not (`drive-log.ts`). */
export type ToldFact = Exclude<CodeFact, { kind: 'turn-ended' | 'drive-broke' | 'drive-put-off' | 'commit-too-large' }>;

export async function decideCodeRun(
  { deps, by, isSaidBy }: Pick<Decider, 'deps' | 'by' | 'isSaidBy'>,
  fold: RunFold,
  facts: readonly ToldFact[],
): Promise<Appended> {
  const decided = (what: readonly CodeFact[]): readonly RunEvent[] =>
    decideCode(fold.state, what, codeTools(deps.clock.now(), fold.head));
  const tooLarge = (failure: Failure): readonly RunEvent[] => decided([{ kind: 'commit-too-large', failure }]);
  const appended = await append(deps, fold, by, () => decided(facts), isSaidBy, tooLarge);
  if (appended.kind === 'committed') {
    measureCommit(deps, fold, appended.commit);
    await carryOut(deps, fold, appended.commit);
  }
  return appended;
}

/** What deciding is given. */
export const codeTools = (now: Instant, { address, deadlineAt }: Pick<Head, 'address' | 'deadlineAt'>): CodeTools => ({
  now,
  deadlineAt,
  childRunId: (node, attempt) => childRunId(address.runId, node, attempt),
});
