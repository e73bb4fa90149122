/** A decision about a graph run in progress, which counts its work. */
import { type Decision, type DecisionTools, openDecision } from '../decision.ts';
import type { Attempt, NodeRef, RunId } from '../ids.ts';
import { minJsonLength } from '../json.ts';
import { inlineBytesOf } from '../log/event-limits.ts';
import type { RunEvent } from '../log/events.ts';
import type { RunState } from '../log/fold.ts';
import type { LoadedPayloads } from './context.ts';
import type { EvaluatePure, Plan } from './plan.ts';
import { DecisionWork, workLimits } from './work-limits.ts';

export interface DecideTools extends DecisionTools {
  readonly plan: Plan;
  readonly runId: RunId;
  /** a number from 0 up to 1, for jitter */
  readonly random: () => number;
  readonly evaluate: EvaluatePure;
  readonly loaded: LoadedPayloads;
  /** the id of the run that this attempt calls: the same in every decision */
  readonly childRunId: (node: NodeRef, attempt: Attempt) => RunId;
  /** whether the decider itself runs one ready node in the same invocation */
  readonly runsOneInline: boolean;
}

export interface Draft extends Decision<DecideTools> {
  /** work done so far; a full draft decides only what it must */
  readonly work: DecisionWork;
}

export function openDraft(state: RunState, tools: DecideTools): Draft {
  const work = new DecisionWork();
  return { ...openDecision(state, tools), work, onEvent: (event) => countWork(work, event) };
}

function countWork(work: DecisionWork, event: RunEvent): void {
  work.inlineBytes(inlineBytesOf(event));
  if ('output' in event && 'value' in event.output)
    work.addStoredText(minJsonLength(event.output.value, workLimits.decision.text));
}

/** Whether the decider may run another node inline: it runs at most one per decision. */
export const canRunOneInline = (draft: Draft): boolean =>
  draft.tools.runsOneInline && !draft.events.some((event) => 'via' in event && event.via === 'inline');
