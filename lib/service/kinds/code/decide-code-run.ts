/** Commits the events that follow from facts about a code run, and dispatches their effects. */
import { decideCode } from '../../../engine/durable/decide.ts';
import type { CodeFact, CodeTools } from '../../../engine/durable/facts.ts';
import type { Failure, RunEvent } from '../../../engine/log/events.ts';
import type { Head } from '../../../engine/log/head.ts';
import type { Instant } from '../../../engine/time.ts';
import { type AppendResult, append } from '../../run-log/append.ts';
import { dispatchEffects } from '../../commit/dispatch-effects.ts';
import { childRunId } from '../../commit/child-run-id.ts';
import type { Decider } from '../graph/decide-run.ts';
import { measureCommit } from '../../commit/measure-commit.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';

/** Facts from outside the workflow function. They are decided again after a lost put; a command batch is not (`workflow-task-log.ts`). */
export type ExternalCodeFact = Exclude<
  CodeFact,
  { kind: 'command-batch' | 'workflow-task-crashed' | 'workflow-task-deferred' | 'commit-too-large' }
>;

export async function decideCodeRun(
  { deps, by, isAlreadyRecordedBy }: Pick<Decider, 'deps' | 'by' | 'isAlreadyRecordedBy'>,
  fold: RunFold,
  facts: readonly ExternalCodeFact[],
): Promise<AppendResult> {
  const decideEvents = (codeFacts: readonly CodeFact[]): readonly RunEvent[] =>
    decideCode(fold.state, codeFacts, codeTools(deps.clock.now(), fold.head));
  const decideTooLarge = (failure: Failure): readonly RunEvent[] => decideEvents([{ kind: 'commit-too-large', failure }]);
  const appended = await append(deps, fold, by, () => decideEvents(facts), isAlreadyRecordedBy, decideTooLarge);
  if (appended.kind === 'committed') {
    measureCommit(deps, fold, appended.commit);
    await dispatchEffects(deps, fold, appended.commit);
  }
  return appended;
}

/** The inputs of `decideCode` besides the state and the facts. */
export const codeTools = (now: Instant, { address, deadlineAt }: Pick<Head, 'address' | 'deadlineAt'>): CodeTools => ({
  now,
  deadlineAt,
  childRunId: (node, attempt) => childRunId(address.runId, node, attempt),
});
