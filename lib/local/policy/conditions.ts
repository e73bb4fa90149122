/** The IAM condition operators that templates of this product may use. Any other operator stops the start. */
import { TemplateError } from '../template/template-error.ts';
import { wildcard } from './wildcard.ts';

/** The condition keys of a request, beside action and resource, in lower case. */
export type RequestContext = Readonly<Record<string, readonly string[]>>;
export type ConditionTest = (context: RequestContext) => boolean;

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
export function compileConditions(
  block: Readonly<Record<string, Readonly<Record<string, unknown>>>>,
  origin: string,
): ConditionTest {
  const tests = Object.entries(block).flatMap(([operator, keys]) =>
    Object.entries(keys).map(([key, value]) => compileOne(operator, key, value, origin)),
  );
  return (context) => tests.every((test) => test(context));
}
