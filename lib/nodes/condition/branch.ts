/** A branch of a condition: parses its current and older forms, and evaluates it. */
import * as z from 'zod';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { withinConfigPath } from '../../engine/graph/work-limits.ts';
import type { ContextView } from '../../engine/graph/context.ts';
import type { JsonValue } from '../../engine/json.ts';
import { jsonValue } from '../config-values.ts';
import { comparisonNames, comparisons } from './operators.ts';

const operator = z.enum(comparisonNames);
/** an expression in characters; the conditions of one branch */
export const branchLimits = { expression: 65_536, conditions: 100 } as const;
const expressionText = z.string().min(1).max(branchLimits.expression);

const comparison = z.object({ leftValue: jsonValue.default(null), operator, rightValue: jsonValue.default(null) });
/** A script expression over `ctx` and `inputs`; its truthiness counts. Forms store it in `leftValue`. */
const scripted = z
  .object({ operator: z.literal('expression'), expression: expressionText.optional(), leftValue: expressionText.optional() })
  .transform(({ expression, leftValue }, issues) => {
    const text = expression ?? leftValue;
    if (text !== undefined) return { expression: text };
    issues.addIssue({ code: 'custom', path: ['expression'], message: 'an expression is missing' });
    return z.NEVER;
  });
/** The error message depends on the operator, so that it fits the form that the author meant. */
const condition = z.union([scripted, comparison], {
  error: ({ input }) => conditionError(input),
});

const conditionError = (input: unknown): string =>
  typeof input === 'object' && input !== null && 'operator' in input && input.operator === 'expression'
    ? 'an expression condition needs an expression, a non-empty string'
    : `a condition needs an operator, one of ${comparisonNames.join(', ')}, expression`;

export type Condition = z.output<typeof condition>;
type Comparing = z.output<typeof comparison>;
export interface Branch {
  readonly id: string;
  readonly label: string;
  readonly conditionLogic: 'AND' | 'OR';
  readonly conditions: readonly Condition[];
}

export const branch = z
  .object({
    id: z.string({ error: 'a branch without an id can never be taken' }).min(1).max(128),
    label: z.string().max(256).optional(),
    conditionLogic: z.enum(['AND', 'OR']).default('AND'),
    conditions: z.array(condition).max(branchLimits.conditions).optional(),
    // older forms: a single expression, or a single comparison
    condition: expressionText.optional(),
    expression: expressionText.optional(),
    leftOperand: jsonValue.optional(),
    conditionType: operator.optional(),
    rightOperand: jsonValue.optional(),
  })
  .transform((read, issues): Branch => {
    const forms = [read.conditions, read.condition ?? read.expression, read.conditionType].filter((form) => form !== undefined);
    if (forms.length > 1) issues.addIssue({ code: 'custom', message: 'a branch must use one form only: set conditions' });
    if (forms.length === 0 || read.conditions?.length === 0)
      issues.addIssue({ code: 'custom', path: ['conditions'], message: 'a branch without conditions can never be taken' });
    return {
      id: read.id,
      label: read.label ?? read.id,
      conditionLogic: read.conditionLogic,
      conditions: read.conditions ?? legacyConditions(read),
    };
  });

const legacyConditions = (read: {
  readonly condition?: string | undefined;
  readonly expression?: string | undefined;
  readonly leftOperand?: JsonValue | undefined;
  readonly conditionType?: z.output<typeof operator> | undefined;
  readonly rightOperand?: JsonValue | undefined;
}): readonly Condition[] => {
  const expression = read.condition ?? read.expression;
  if (expression !== undefined) return [{ expression }];
  if (read.conditionType === undefined) return [];
  return [{ leftValue: read.leftOperand ?? null, operator: read.conditionType, rightValue: read.rightOperand ?? null }];
};

/** @param isTrue result of a scripted condition; false when its script threw */
export function isTaken(taken: Branch, context: ContextView, isTrue: (expression: string) => boolean): boolean {
  const compare = ({ leftValue, operator: operatorName, rightValue }: Comparing): boolean => {
    const left = withinConfigPath('leftValue', () => resolveTemplate(leftValue, context));
    const right = withinConfigPath('rightValue', () => resolveTemplate(rightValue, context));
    return comparisons[operatorName](left, right, context.work);
  };
  const holds = (one: Condition, at: number): boolean =>
    'expression' in one ? isTrue(one.expression) : withinConfigPath('conditions', () => withinConfigPath(at, () => compare(one)));
  return taken.conditionLogic === 'AND' ? taken.conditions.every(holds) : taken.conditions.some(holds);
}
