/** The budget that a workflow declares: whether a run could ever keep it. */
import type { Budget, Finding } from './definition.ts';
import { finding, pointer } from './findings.ts';

/** Far beyond what a run comes to before its deadline; a number that a sum of counts never leaves behind. */
export const largestBudget = 1_000_000_000;

export const checkBudget = (budget: Budget | undefined): readonly Finding[] =>
  Object.entries(budget ?? {}).flatMap(([name, value]) =>
    Number.isInteger(value) && value >= 1 && value <= largestBudget
      ? []
      : [
          finding(
            'budget_invalid',
            pointer('options', 'budget', name),
            `${name} must be a whole number from 1 to ${largestBudget}, and is ${value}`,
          ),
        ],
  );
