/** Checks the declared budget. */
import type { Budget, Finding } from './definition.ts';
import { finding, jsonPointer } from './findings.ts';

/** Far more than a run reaches before its deadline, and small enough that sums stay exact integers. */
export const maxBudget = 1_000_000_000;

export const checkBudget = (budget: Budget | undefined): readonly Finding[] =>
  Object.entries(budget ?? {}).flatMap(([name, value]) =>
    Number.isInteger(value) && value >= 1 && value <= maxBudget
      ? []
      : [
          finding(
            'budget_invalid',
            jsonPointer('options', 'budget', name),
            `${name} must be a whole number from 1 to ${maxBudget}; it is ${value}`,
          ),
        ],
  );
