/** IAM policies: parses the documents, compiles their conditions, and evaluates a role's statements as IAM does. Resource policies are not evaluated. */
import * as z from 'zod';
import { TemplateError } from '../template/template-error.ts';

/** A permission that a request needs; a batch or a transaction needs several. */
export interface RequiredPermission {
  /** `dynamodb:PutItem` */
  readonly action: string;
  readonly resource: string;
  readonly context?: RequestContext;
}

export type AccessDecision = 'allowed' | 'explicit_deny' | 'implicit_deny';

const matchingStatements = (
  statements: readonly Statement[],
  { action, resource }: Pick<RequiredPermission, 'action' | 'resource'>,
): readonly Statement[] => statements.filter((one) => one.matchesAction(action) && one.matchesResource(resource));

/** A Deny wins over every Allow, and without an Allow the request is denied. @param matching those that match action and resource */
function decide(matching: readonly Statement[], context: RequestContext): AccessDecision {
  let decision: AccessDecision = 'implicit_deny';
  for (const { conditions, effect } of matching) {
    if (!conditions(context)) continue;
    if (effect === 'Deny') return 'explicit_deny';
    decision = 'allowed';
  }
  return decision;
}

export const evaluate = (statements: readonly Statement[], permission: RequiredPermission): AccessDecision =>
  decide(matchingStatements(statements, permission), permission.context ?? {});

/** of each action; objects of the bucket are resources too, so their number has no bound */
const maxRemembered = 1_000;

/**
 * Evaluates the statements of one role. It remembers which statements match an action on a resource, by both exactly. Conditions depend
 * on the request, so it evaluates them each time.
 */
export function createEvaluator(statements: readonly Statement[]): (permission: RequiredPermission) => AccessDecision {
  const remembered = new Map<string, Map<string, readonly Statement[]>>();
  return (permission) => {
    const { action, resource, context = {} } = permission;
    const ofAction = remembered.get(action) ?? new Map<string, readonly Statement[]>();
    const matching = ofAction.get(resource) ?? matchingStatements(statements, permission);
    if (ofAction.size >= maxRemembered) ofAction.clear();
    ofAction.set(resource, matching);
    remembered.set(action, ofAction);
    return decide(matching, context);
  };
}

/** The message of AWS. */
export const denialMessage = (
  principalArn: string,
  permission: RequiredPermission,
  decision: Exclude<AccessDecision, 'allowed'>,
): string =>
  `User: ${principalArn} is not authorized to perform: ${permission.action} on resource: ${permission.resource} ${
    decision === 'explicit_deny'
      ? 'with an explicit deny in an identity-based policy'
      : `because no identity-based policy allows the ${permission.action} action`
  }`;

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

/** The condition keys of a request, beside action and resource, in lower case. */
export type RequestContext = Readonly<Record<string, readonly string[]>>;
type ConditionTest = (context: RequestContext) => boolean;

type Compare = (expected: string) => (actual: string) => boolean;

const equals: Compare = (expected) => (actual) => actual === expected;
const like: Compare = (expected) => {
  const pattern = wildcard(expected);
  return (actual) => pattern.test(actual);
};

const operators: Readonly<Record<string, { readonly compare: Compare; readonly negated: boolean }>> = {
  StringEquals: { compare: equals, negated: false },
  StringNotEquals: { compare: equals, negated: true },
  StringEqualsIgnoreCase: {
    compare: (expected) => (actual) => actual.toLowerCase() === expected.toLowerCase(),
    negated: false,
  },
  StringLike: { compare: like, negated: false },
  StringNotLike: { compare: like, negated: true },
  ArnEquals: { compare: like, negated: false },
  ArnLike: { compare: like, negated: false },
  ArnNotLike: { compare: like, negated: true },
  Bool: { compare: equals, negated: false },
  NumericLessThanEquals: { compare: (expected) => (actual) => Number(actual) <= Number(expected), negated: false },
};

const toStrings = (value: unknown): readonly string[] => (Array.isArray(value) ? value : [value]).map(String);

function compileOne(operator: string, key: string, value: unknown, origin: string): ConditionTest {
  const expectedValues = toStrings(value);
  const name = key.toLowerCase();
  if (operator === 'Null') return (context) => (context[name] === undefined) === (expectedValues[0] === 'true');
  const [, quantifier, base, ifExists] = /^(ForAllValues:|ForAnyValue:)?(\w+?)(IfExists)?$/.exec(operator) ?? [];
  const known = base === undefined ? undefined : operators[base];
  if (known === undefined)
    throw new TemplateError(`${origin}: the condition operator ${operator} is not implemented by the embedded cloud`);
  const compares = expectedValues.map(known.compare);
  const matches = (actual: string): boolean => compares.some((compare) => compare(actual)) !== known.negated;
  return (context) => {
    const actual = context[name];
    if (actual === undefined) return ifExists !== undefined || quantifier === 'ForAllValues:' || known.negated;
    return quantifier === 'ForAnyValue:' ? actual.some(matches) : actual.every(matches);
  };
}

/** Every operator and every key of a block must match; the values of one key are alternatives. */
function compileConditions(block: Readonly<Record<string, Readonly<Record<string, unknown>>>>, origin: string): ConditionTest {
  const tests = Object.entries(block).flatMap(([operator, keys]) =>
    Object.entries(keys).map(([key, value]) => compileOne(operator, key, value, origin)),
  );
  return (context) => tests.every((test) => test(context));
}

/** `*` matches any characters, `?` matches one. */
function wildcard(pattern: string, flags = ''): RegExp {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, `s${flags}`);
}
