/** IAM policy documents as CloudFormation writes them, parsed once into compiled patterns. */
import * as z from 'zod';
import { TemplateError } from '../template/template-error.ts';
import { compileConditions, type ConditionTest } from './conditions.ts';
import { wildcard } from './wildcard.ts';

export interface Statement {
  readonly effect: 'Allow' | 'Deny';
  readonly matchesAction: (action: string) => boolean;
  readonly matchesResource: (arn: string) => boolean;
  readonly conditions: ConditionTest;
}

const oneOrMore = z.union([z.string().transform((one) => [one]), z.array(z.string())]);

const statementShape = z.strictObject({
  Sid: z.string().optional(),
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMore.optional(),
  NotAction: oneOrMore.optional(),
  Resource: oneOrMore.optional(),
  NotResource: oneOrMore.optional(),
  Condition: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});

const documentShape = z.looseObject({
  Statement: z.union([statementShape.transform((one) => [one]), z.array(statementShape)]),
});

/** Actions ignore case, resources do not. */
const anyOf = (patterns: readonly string[], flags = ''): ((text: string) => boolean) => {
  const compiled = patterns.map((pattern) => wildcard(pattern, flags));
  return (text) => compiled.some((pattern) => pattern.test(text));
};

const oneOf = (positive: readonly string[] | undefined, negative: readonly string[] | undefined, flags: string, what: string) => {
  if (positive !== undefined) return anyOf(positive, flags);
  if (negative === undefined) throw new TemplateError(`a policy statement names no ${what}`);
  const excluded = anyOf(negative, flags);
  return (text: string): boolean => !excluded(text);
};

/** `origin` names the policy in errors. The document's intrinsics are already resolved. */
export function parsePolicy(document: unknown, origin: string): readonly Statement[] {
  const parsed = documentShape.safeParse(document);
  if (!parsed.success) throw new TemplateError(`${origin}: the policy document is not valid: ${z.prettifyError(parsed.error)}`);
  return parsed.data.Statement.map((statement) => ({
    effect: statement.Effect,
    matchesAction: oneOf(statement.Action, statement.NotAction, 'i', 'action'),
    matchesResource: oneOf(statement.Resource, statement.NotResource, '', 'resource'),
    conditions: compileConditions(statement.Condition ?? {}, origin),
  }));
}
