/** The budget that a workflow declares: whether a run could ever keep it. */
import type { Budget, Finding } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';

/** Far beyond what a run comes to before its deadline; a number that a sum of counts never leaves behind. */
export const maxBudget = 1_000_000_000;

export const checkBudget = (budget: Budget | undefined): readonly Finding[] =>
  Object.entries(budget ?? {}).flatMap(([name, value]) =>
    Number.isInteger(value) && value >= 1 && value <= maxBudget
      ? []
      : [
          finding(
            'budget_invalid',
            jsonPointer('options', 'budget', name),
            `${name} must be a whole number from 1 to ${maxBudget}, and is ${value}`,
          ),
        ],
  );
