/**
 * The budget of a run: dispatched attempts, and tokens that models report. The fold counts both, so every decider counts the same and
 * a duplicate message counts nothing. A run that would exceed its budget fails, and its end cancels the open nodes.
 */
import { defined } from '../../base/defined.ts';
import { type Attempt, type NodeRef, firstAttempt, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import type { TokenCount } from '../log/events.ts';
import type { Budget } from './definition.ts';
import { endRun } from '../decision.ts';
import type { Draft } from './draft.ts';

/** The error code of a run that exceeded its budget. */
const budgetExceeded = 'budget_exceeded';

/** Whether the budget covers these dispatches. If not, the run has failed and the caller must not dispatch any of them. */
export function checkExecutionBudget(draft: Draft, refs: readonly NodeRef[]): boolean {
  const limit = draft.tools.plan.options.budget?.maxNodeExecutions;
  const used = draft.state.budgetUsage.executions;
  if (limit === undefined || used + refs.length <= limit) return true;
  const first = refs[limit - used];
  invariant(first !== undefined, `the run used ${used} executions of its budget of ${limit} before this dispatch`);
  endOverBudget(draft, first, 'maxNodeExecutions', { limit, used });
  return false;
}

/** Whether the budget covers one more dispatch. */
export const hasExecutionsLeft = ({ state, tools }: Draft): boolean =>
  state.budgetUsage.executions < (tools.plan.options.budget?.maxNodeExecutions ?? Infinity);

/** The first attempt of a call counts here; NODE_RETRIED counts a further one. */
export const checkCallBudget = (draft: Draft, ref: NodeRef, attempt: Attempt): boolean =>
  attempt !== firstAttempt || checkExecutionBudget(draft, [ref]);

/** Checks the token count after the result is recorded, because it is unknown before. */
export function checkTokenBudget(draft: Draft, ref: NodeRef, tokens: TokenCount | undefined): void {
  const limit = draft.tools.plan.options.budget?.maxTokens;
  const used = draft.state.budgetUsage.tokens;
  if (tokens !== undefined && limit !== undefined && used > limit) endOverBudget(draft, ref, 'maxTokens', { limit, used });
}

/** Whether the run failed because it exceeded its budget. */
export const isOverBudget = ({ state: { progress } }: Draft): boolean =>
  progress.status === 'failed' && progress.error.code === budgetExceeded;

const budgetNames = {
  maxNodeExecutions: 'node executions',
  maxTokens: 'tokens',
} as const satisfies Record<keyof Budget, string>;

function endOverBudget(
  draft: Draft,
  { nodeId, iteration }: NodeRef,
  budget: keyof Budget,
  { limit, used }: { readonly limit: number; readonly used: number },
): void {
  const reason = budget === 'maxTokens' ? `${used} are used` : 'it needs another one';
  endRun(draft, {
    status: 'failed',
    error: {
      cause: 'budget',
      code: budgetExceeded,
      message: `the run exceeded its budget of ${limit} ${budgetNames[budget]}: ${reason}`,
      details: defined({ budget, limit, used, nodeId, iteration: iteration === topLevel ? undefined : iteration }),
    },
  });
}
