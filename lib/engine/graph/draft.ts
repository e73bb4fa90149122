/** A decision in progress: a fork of the fold, and the events decided so far, each already folded into it. */
import { type Attempt, type CommitNo, type NodeRef, type RunId, commitNo } from '../ids.ts';
import { minJsonLength } from '../json.ts';
import { inlineBytesOf } from '../log/event-limits.ts';
import type { RunEvent } from '../log/events.ts';
import { type RunState, applyEvent, fork, isTerminal } from '../log/fold.ts';
import type { Instant } from '../time.ts';
import type { LoadedPayloads } from './context.ts';
import type { EvaluatePure, Plan } from './plan.ts';
import { DecisionWork, workLimits } from './work-limits.ts';

export interface DecideTools {
  readonly plan: Plan;
  readonly runId: RunId;
  readonly now: Instant;
  readonly deadlineAt: Instant;
  /** a number from 0 up to 1, for jitter */
  readonly random: () => number;
  readonly evaluate: EvaluatePure;
  readonly loaded: LoadedPayloads;
  /** the id of the run that this attempt calls: the same in every decision */
  readonly childRunId: (node: NodeRef, attempt: Attempt) => RunId;
  /** whether the decider itself runs one ready node in the same invocation */
  readonly runsOneInline: boolean;
}

export interface Draft {
  readonly state: RunState;
  readonly events: RunEvent[];
  readonly tools: DecideTools;
  readonly commit: CommitNo;
  /** work done so far; a full draft decides only what it must */
  readonly work: DecisionWork;
}

export const openDraft = (state: RunState, tools: DecideTools): Draft => ({
  state: fork(state),
  events: [],
  tools,
  commit: commitNo(state.asOf + 1),
  work: new DecisionWork(),
});

export function emit(draft: Draft, event: RunEvent): void {
  applyEvent(draft.state, event, { commit: draft.commit, at: draft.tools.now });
  draft.events.push(event);
  draft.work.inlineBytes(inlineBytesOf(event));
  if ('output' in event && 'value' in event.output)
    draft.work.addStoredText(minJsonLength(event.output.value, workLimits.decision.text));
}

export const hasEnded = (draft: Draft): boolean => isTerminal(draft.state.progress);

/** Whether the decider may run another node inline: it runs at most one per decision. */
export const canRunOneInline = (draft: Draft): boolean =>
  draft.tools.runsOneInline && !draft.events.some((event) => 'via' in event && event.via === 'inline');
