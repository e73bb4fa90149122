/**
 * The values of an event pattern: literals and comparison operators, each compiled to a test of one value of the event.
 * https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
 */
import { BlockList, isIPv4, isIPv6 } from 'node:net';

/** EventBridge refuses the pattern when a rule is created; the message gives the reason. */
export class PatternError extends Error {
  override readonly name = 'PatternError';
}

/** Tests one value of an event: text, a number, true, false or null. */
export type ValueTest = (value: unknown) => boolean;

export const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Numeric comparisons work between -5e9 and 5e9. A value of the event outside matches no comparison. */
const maxNumber = 5e9;
const isComparable = (value: unknown): value is number => typeof value === 'number' && Math.abs(value) <= maxNumber;

const textOf = (operator: string, argument: unknown): string => {
  if (typeof argument !== 'string') throw new PatternError(`${operator} match pattern must be a string`);
  return argument;
};

const ofText =
  (test: (text: string) => boolean): ValueTest =>
  (value) =>
    typeof value === 'string' && test(value);

/** The only key of an operator's object, with its argument. */
function singleEntry(expression: Readonly<Record<string, unknown>>): readonly [string, unknown] {
  const [entry, ...more] = Object.entries(expression);
  if (entry === undefined) throw new PatternError('Match expression name not found');
  if (more.length > 0) throw new PatternError('Only one key allowed in match expression');
  return entry;
}

/** `prefix` and `suffix`, whose argument may be `{ "equals-ignore-case": text }`. */
function affix(operator: 'prefix' | 'suffix', argument: unknown): ValueTest {
  const matches = (text: string, part: string): boolean => (operator === 'prefix' ? text.startsWith(part) : text.endsWith(part));
  if (!isRecord(argument)) {
    const part = textOf(operator, argument);
    return ofText((text) => matches(text, part));
  }
  const [name, inner] = singleEntry(argument);
  if (name !== 'equals-ignore-case') throw new PatternError(`Unsupported ${operator} pattern: ${name}`);
  const part = textOf(operator, inner).toLowerCase();
  return ofText((text) => matches(text.toLowerCase(), part));
}

function equalsIgnoreCase(argument: unknown): ValueTest {
  const expected = textOf('equals-ignore-case', argument).toLowerCase();
  return ofText((text) => text.toLowerCase() === expected);
}

/** The literal parts between the wildcards. A backslash escapes an asterisk or a backslash. */
function wildcardParts(pattern: string): readonly string[] {
  const parts = [''];
  for (const [token] of pattern.matchAll(/\\.?|\*+|[^\\*]+/gs)) {
    if (token.startsWith('*')) {
      if (token.length > 1) throw new PatternError('Consecutive wildcard characters are not allowed');
      parts.push('');
      continue;
    }
    if (token.startsWith('\\') && token !== '\\*' && token !== '\\\\') throw new PatternError('Invalid escape character');
    parts.push((parts.pop() ?? '') + (token.startsWith('\\') ? token.slice(1) : token));
  }
  return parts;
}

/** Searches the parts from left to right: linear in the text for each wildcard, where a regular expression could take exponential time. */
function wildcard(argument: unknown): ValueTest {
  const [first = '', ...rest] = wildcardParts(textOf('wildcard', argument));
  const last = rest.pop();
  if (last === undefined) return ofText((text) => text === first);
  return ofText((text) => {
    if (!text.startsWith(first)) return false;
    let position = first.length;
    for (const part of rest) {
      const found = text.indexOf(part, position);
      if (found === -1) return false;
      position = found + part.length;
    }
    return text.length - last.length >= position && text.endsWith(last);
  });
}

/** The family of an address as `node:net` names it; undefined: the text is no address. */
const familyOf = (text: string): 'ipv4' | 'ipv6' | undefined => (isIPv4(text) ? 'ipv4' : isIPv6(text) ? 'ipv6' : undefined);

function cidr(argument: unknown): ValueTest {
  const network = textOf('cidr', argument);
  const [, base = '', bits = ''] = /^([^/]+)\/(\d{1,3})$/.exec(network) ?? [];
  const family = familyOf(base);
  if (family === undefined || Number(bits) > (family === 'ipv4' ? 32 : 128)) throw new PatternError(`Malformed CIDR: ${network}`);
  const addresses = new BlockList();
  addresses.addSubnet(base, Number(bits), family);
  return ofText((text) => familyOf(text) === family && addresses.check(text, family));
}

const comparisons: ReadonlyMap<unknown, (value: number, bound: number) => boolean> = new Map([
  ['=', (value: number, bound: number) => value === bound],
  ['<', (value: number, bound: number) => value < bound],
  ['<=', (value: number, bound: number) => value <= bound],
  ['>', (value: number, bound: number) => value > bound],
  ['>=', (value: number, bound: number) => value >= bound],
]);

/** One comparison, or a range: a lower bound, then an upper bound. */
function numeric(argument: unknown): ValueTest {
  if (!Array.isArray(argument)) throw new PatternError('Value of numeric must be an array.');
  const terms: readonly unknown[] = argument;
  const [operator, bound, upperOperator, upperBound, ...more] = terms;
  const compare = (name: unknown, limit: unknown): ((value: number) => boolean) => {
    const comparison = comparisons.get(name);
    if (comparison === undefined) throw new PatternError(`Unrecognized numeric range operator: ${String(name)}`);
    if (!isComparable(limit)) throw new PatternError(`Value of ${String(name)} must be numeric, from -5e9 to 5e9`);
    return (value) => comparison(value, limit);
  };
  const first = compare(operator, bound);
  if (terms.length === 2) return (value) => isComparable(value) && first(value);
  const isRange =
    (operator === '>' || operator === '>=') && (upperOperator === '<' || upperOperator === '<=') && more.length === 0;
  if (!isRange) throw new PatternError('Bad numeric range: expected a lower bound and an upper bound');
  const second = compare(upperOperator, upperBound);
  if (Number(bound) >= Number(upperBound)) throw new PatternError('Bottom must be less than top');
  return (value) => isComparable(value) && first(value) && second(value);
}

const anythingButOperators: Readonly<Record<string, (argument: unknown) => ValueTest>> = {
  prefix: (argument) => affix('prefix', argument),
  suffix: (argument) => affix('suffix', argument),
  'equals-ignore-case': equalsIgnoreCase,
  wildcard,
};

/** Any value except the given ones, so it matches a number, true, false and null as well. The field must exist. */
function anythingBut(argument: unknown): ValueTest {
  if (isRecord(argument)) {
    const [name, inner] = singleEntry(argument);
    const operator = Object.hasOwn(anythingButOperators, name) ? anythingButOperators[name] : undefined;
    if (operator === undefined) throw new PatternError(`Unsupported anything-but pattern: ${name}`);
    const excluded: readonly unknown[] = Array.isArray(inner) ? inner : [inner];
    if (excluded.length === 0) throw new PatternError('Empty arrays are not allowed');
    if (excluded.includes('')) throw new PatternError(`Null ${name} not allowed`);
    const tests = excluded.map(operator);
    return (value) => !tests.some((test) => test(value));
  }
  const excluded: readonly unknown[] = Array.isArray(argument) ? argument : [argument];
  const allOf = (type: 'string' | 'number'): boolean => excluded.every((value) => typeof value === type);
  if (excluded.length === 0 || (!allOf('string') && !allOf('number')))
    throw new PatternError('Inside anything but list, either all values are number or string, mixed type is not supported');
  return (value) => !excluded.includes(value);
}

const operators: Readonly<Record<string, (argument: unknown) => ValueTest>> = {
  ...anythingButOperators,
  'anything-but': anythingBut,
  cidr,
  numeric,
};

/** Names that an `$or` branch may not use for fields. */
export const operatorNames: ReadonlySet<string> = new Set([...Object.keys(operators), 'exists', 'exactly']);

/** `{ "exists": … }` tests a field and not a value. */
export type Existence = 'exists' | 'absent';

/** Compiles one element of a field's list. */
export function compileValue(element: unknown): ValueTest | Existence {
  if (Array.isArray(element)) throw new PatternError('Match value must be String, number, true, false, or null');
  // JSON numbers are compared by value: 300 and 3.0e2 are equal.
  if (!isRecord(element)) return (value) => value === element;
  const [name, argument] = singleEntry(element);
  if (name === 'exists') {
    if (typeof argument !== 'boolean') throw new PatternError('exists match pattern must be either true or false.');
    return argument ? 'exists' : 'absent';
  }
  const operator = Object.hasOwn(operators, name) ? operators[name] : undefined;
  if (operator === undefined) throw new PatternError(`Unrecognized match type ${name}`);
  return operator(argument);
}
