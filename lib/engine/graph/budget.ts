/**
 * What a run may use up: attempts that workers are asked for, and tokens that models report. Both are counted by the fold, so
 * every decider counts the same, and a message that comes twice counts nothing. Where a budget would be exceeded the run ends,
 * and what is still open is cancelled by that, as by a cancel.
 */
import { defined } from '../defined.ts';
import { type Attempt, type NodeRef, firstAttempt, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { TokenCount } from '../log/events.ts';
import type { Budget } from './definition.ts';
import { type Draft, emit } from './draft.ts';

/** The code of a run that was ended by its budget. */
const budgetExceeded = 'budget_exceeded';

/** Whether workers may be asked for all of these. Where they may not the run has ended, and none of them is to be asked for. */
export function checkExecutionBudget(draft: Draft, refs: readonly NodeRef[]): boolean {
  const limit = draft.tools.plan.options.budget?.maxNodeExecutions;
  const used = draft.state.budgetUsage.executions;
  if (limit === undefined || used + refs.length <= limit) return true;
  const first = refs[limit - used];
  invariant(first !== undefined, `${used} executions are more than the budget of ${limit} before another is asked for`);
  endOverBudget(draft, first, 'maxNodeExecutions', { limit, used });
  return false;
}

/** Whether one more may be asked for. */
export const hasExecutionsLeft = ({ state, tools }: Draft): boolean =>
  state.budgetUsage.executions < (tools.plan.options.budget?.maxNodeExecutions ?? Infinity);

/** A call of another run counts when it is made; the repetition of one was counted when it was asked for. */
export const checkCallBudget = (draft: Draft, ref: NodeRef, attempt: Attempt): boolean =>
  attempt !== firstAttempt || checkExecutionBudget(draft, [ref]);

/** Looks at what a result reported, once it is on the record: no count is known before. */
export function checkTokenBudget(draft: Draft, ref: NodeRef, tokens: TokenCount | undefined): void {
  const limit = draft.tools.plan.options.budget?.maxTokens;
  const used = draft.state.budgetUsage.tokens;
  if (tokens !== undefined && limit !== undefined && used > limit) endOverBudget(draft, ref, 'maxTokens', { limit, used });
}

/** It is the budget that the run was ended by. */
export const isOverBudget = ({ state: { progress } }: Draft): boolean =>
  progress.status === 'failed' && progress.error.code === budgetExceeded;

const budgetNames = {
  maxNodeExecutions: 'executions of nodes',
  maxTokens: 'tokens',
} as const satisfies Record<keyof Budget, string>;

function endOverBudget(
  draft: Draft,
  { nodeId, iteration }: NodeRef,
  budget: keyof Budget,
  { limit, used }: { readonly limit: number; readonly used: number },
): void {
  const reason = budget === 'maxTokens' ? `${used} have been used` : 'another one is needed';
  emit(draft, { type: 'RUN_STATUS_CHANGED', status: 'failed' });
  emit(draft, {
    type: 'RUN_FAILED',
    error: {
      cause: 'budget',
      code: budgetExceeded,
      message: `the run may use ${limit} ${budgetNames[budget]}, and ${reason}`,
      details: defined({ budget, limit, used, nodeId, iteration: iteration === topLevel ? undefined : iteration }),
    },
  });
}
