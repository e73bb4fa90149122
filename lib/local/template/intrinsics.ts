/** CloudFormation's intrinsic functions, over values that are known before anything is created. */
import { awsEnvironment } from '../aws-environment.ts';
import { TemplateError } from './template-error.ts';

/** The parts of the template that an intrinsic may read. */
export interface TemplateScope {
  readonly stackName: string;
  /** the value of a parameter or the `Ref` of a resource; undefined where there is neither */
  ref(logicalId: string): unknown;
  attribute(logicalId: string, name: string): unknown;
  condition(name: string): unknown;
  exported(name: string): unknown;
  mapping(map: string, first: string, second: string): unknown;
}

/** `{ Ref: 'AWS::NoValue' }` removes the property. */
const noValue = Symbol('AWS::NoValue');

type Resolve = (value: unknown) => unknown;
type Intrinsic = (argument: unknown, resolve: Resolve, scope: TemplateScope) => unknown;

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const text = (value: unknown, what: string): string => {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new TemplateError(`${what} must be text, and is ${JSON.stringify(value)}`);
};

const list = (value: unknown, what: string, length?: number): readonly unknown[] => {
  if (Array.isArray(value) && (length === undefined || value.length === length)) return value;
  throw new TemplateError(
    `${what} must be a list${length === undefined ? '' : ` of ${length}`}, and is ${JSON.stringify(value)}`,
  );
};

const pseudoParameters = (stackName: string): Readonly<Record<string, unknown>> => ({
  'AWS::AccountId': awsEnvironment.account,
  'AWS::Region': awsEnvironment.region,
  'AWS::Partition': awsEnvironment.partition,
  'AWS::URLSuffix': awsEnvironment.urlSuffix,
  'AWS::StackName': stackName,
  'AWS::StackId': `arn:${awsEnvironment.partition}:cloudformation:${awsEnvironment.region}:${awsEnvironment.account}:stack/${stackName}/local`,
  'AWS::NotificationARNs': [],
  'AWS::NoValue': noValue,
});

const reference = (name: string, scope: TemplateScope): unknown => {
  const pseudo = pseudoParameters(scope.stackName);
  if (Object.hasOwn(pseudo, name)) return pseudo[name];
  const value = scope.ref(name);
  if (value === undefined)
    throw new TemplateError(`${scope.stackName}: Ref to '${name}', which is neither parameter nor resource`);
  return value;
};

const getAtt: Intrinsic = (argument, resolve, scope) => {
  const parts =
    typeof argument === 'string'
      ? argument.split('.')
      : list(argument, 'Fn::GetAtt').map((part) => text(resolve(part), 'Fn::GetAtt'));
  const [id, ...name] = parts;
  if (id === undefined || name.length === 0)
    throw new TemplateError(`Fn::GetAtt needs a resource and an attribute: ${JSON.stringify(argument)}`);
  return scope.attribute(id, name.join('.'));
};

const substitute: Intrinsic = (argument, resolve, scope) => {
  const [pattern, extra] = typeof argument === 'string' ? [argument, {}] : list(argument, 'Fn::Sub', 2);
  const variables = isRecord(extra) ? extra : {};
  return text(pattern, 'Fn::Sub').replace(/\$\{(!?)([^}]+)\}/g, (whole, escaped: string, name: string) => {
    if (escaped === '!') return `\${${name}}`;
    if (Object.hasOwn(variables, name)) return text(resolve(variables[name]), whole);
    return text(name.includes('.') ? getAtt(name, resolve, scope) : reference(name, scope), whole);
  });
};

const isTrue = (value: unknown): boolean => value === true || value === 'true';

const intrinsics: Readonly<Record<string, Intrinsic>> = {
  Ref: (argument, _resolve, scope) => reference(text(argument, 'Ref'), scope),
  'Fn::GetAtt': getAtt,
  'Fn::Sub': substitute,
  'Fn::Join': (argument, resolve) => {
    const [separator, parts] = list(argument, 'Fn::Join', 2);
    return list(resolve(parts), 'Fn::Join')
      .map((part) => text(part, 'Fn::Join'))
      .join(text(separator, 'Fn::Join'));
  },
  'Fn::Select': (argument, resolve) => {
    const [index, from] = list(argument, 'Fn::Select', 2);
    const value = list(resolve(from), 'Fn::Select')[Number(resolve(index))];
    if (value === undefined) throw new TemplateError(`Fn::Select finds nothing at ${String(index)}`);
    return value;
  },
  'Fn::Split': (argument, resolve) => {
    const [separator, whole] = list(argument, 'Fn::Split', 2);
    return text(resolve(whole), 'Fn::Split').split(text(separator, 'Fn::Split'));
  },
  'Fn::ImportValue': (argument, resolve, scope) => scope.exported(text(resolve(argument), 'Fn::ImportValue')),
  'Fn::FindInMap': (argument, resolve, scope) => {
    const [map, first, second] = list(resolve(argument), 'Fn::FindInMap', 3).map((part) => text(part, 'Fn::FindInMap'));
    return scope.mapping(map ?? '', first ?? '', second ?? '');
  },
  'Fn::Base64': (argument, resolve) => Buffer.from(text(resolve(argument), 'Fn::Base64')).toString('base64'),
  'Fn::If': (argument, resolve, scope) => {
    const [name, yes, no] = list(argument, 'Fn::If', 3);
    return resolve(isTrue(scope.condition(text(name, 'Fn::If'))) ? yes : no);
  },
  'Fn::Equals': (argument, resolve) => {
    const [left, right] = list(argument, 'Fn::Equals', 2).map(resolve);
    return JSON.stringify(left) === JSON.stringify(right);
  },
  'Fn::And': (argument, resolve) => list(argument, 'Fn::And').map(resolve).every(isTrue),
  'Fn::Or': (argument, resolve) => list(argument, 'Fn::Or').map(resolve).some(isTrue),
  'Fn::Not': (argument, resolve) => !list(argument, 'Fn::Not', 1).map(resolve).every(isTrue),
  Condition: (argument, _resolve, scope) => scope.condition(text(argument, 'Condition')),
};

/** Returns the value with every intrinsic resolved. An unknown intrinsic stops the start. */
export function resolveValue(value: unknown, scope: TemplateScope): unknown {
  const resolve: Resolve = (inner) => {
    if (Array.isArray(inner)) return inner.map(resolve).filter((item) => item !== noValue);
    if (!isRecord(inner)) return inner;
    const [single, ...more] = Object.entries(inner);
    if (single !== undefined && more.length === 0) {
      const [name, argument] = single;
      const intrinsic = Object.hasOwn(intrinsics, name) ? intrinsics[name] : undefined;
      // A policy statement may contain the key Condition alone: only the textual form is the intrinsic.
      if (intrinsic !== undefined && (name !== 'Condition' || typeof argument === 'string'))
        return intrinsic(argument, resolve, scope);
      if (name.startsWith('Fn::'))
        throw new TemplateError(`${scope.stackName}: the intrinsic ${name} is not implemented by the embedded cloud`);
    }
    return Object.fromEntries(
      Object.entries(inner)
        .map(([key, item]) => [key, resolve(item)] as const)
        .filter(([, item]) => item !== noValue),
    );
  };
  const resolved = resolve(value);
  return resolved === noValue ? undefined : resolved;
}
