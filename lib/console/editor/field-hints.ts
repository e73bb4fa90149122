/** What the forms add to the schemas: names for people, when a setting has an effect, and older names that new nodes do not need. */
import type { JsonObject } from '../../engine/json.ts';

/** Names that the schema accepts for workflows of other products. A form shows them only where they are used. */
const older: ReadonlySet<string> = new Set([
  'condition/branches/condition',
  'condition/branches/expression',
  'condition/branches/leftOperand',
  'condition/branches/conditionType',
  'condition/branches/rightOperand',
  'condition/branches/conditions/leftValue?expression',
  'dataQuery/dataQueryID',
  'dataQuery/args',
  'lens/param_overrides',
  'settings/timeoutSeconds',
  'settings/title',
]);

/** @param path the type of the node, and the names of the fields without the indexes of arrays */
export const isOlder = (path: readonly string[]): boolean => older.has(path.join('/'));

const conditions: Readonly<Record<string, (config: JsonObject) => boolean>> = {
  'delay/delayMinutes': ({ delayType = 'fixed' }) => delayType === 'fixed',
  'delay/delaySeconds': ({ delayType = 'fixed' }) => delayType === 'fixed',
  'delay/delayMs': ({ delayType = 'fixed' }) => delayType === 'fixed',
  'delay/delayVariable': ({ delayType }) => delayType === 'dynamic',
  'delay/untilTime': ({ delayType }) => delayType === 'until',
  'http/body': ({ method = 'GET' }) => method !== 'GET' && method !== 'HEAD',
  'http/sendIdempotencyKey': ({ method = 'GET' }) => method === 'POST' || method === 'PATCH',
  'signal/onExpiry': ({ expiresInSeconds }) => expiresInSeconds !== undefined,
};

/** Whether a setting has an effect beside the others. One that has a value is shown anyway. */
export const hasEffect = (type: string, name: string, config: JsonObject): boolean =>
  Object.hasOwn(config, name) || conditions[`${type}/${name}`]?.(config) !== false;

const helps: Readonly<Record<string, string>> = {
  'javascript/code': 'The body of a function of ctx and inputs. What it returns is the output.',
  'http/url': 'A complete address. Templates such as {{ctx.input.id}} are inserted unchanged.',
  'http/headers': '{{secret:name}} inserts a secret.',
  'http/body': 'A text is sent unchanged, other JSON as JSON.',
  'http/failOnStatus': 'The node fails from this status on.',
  'condition/branches': 'The first branch that holds is taken. Each is a handle of the node.',
  'condition/defaultBranch': 'The handle that is taken if no branch holds.',
  'condition/branches/conditions/expression': 'A JavaScript expression of ctx and inputs.',
  'loop/sourceVariable': 'One template, such as {{ctx.input.items}}.',
  'delay/untilTime': 'For example 2027-01-31T09:00:00Z, or a template.',
  'delay/delayVariable': 'A template of a duration.',
  'signal/correlation': 'Tells runs that wait for the same signal apart. Empty: the id of the run.',
  'subflow/input': 'Empty: the inputs of this node.',
  'subflow/version': 'Empty: the latest version.',
  'dataQuery/version': 'Empty: the latest version.',
  'lens/version': 'Empty: the latest version.',
  'end/outputParameters': 'The output of the run, by name.',
  'end/outputParameters/sourceVariable': 'A template, such as {{ctx.total}}.',
  'end/outputParameters/value': 'A constant, instead of a template.',
  'end/endsRun': 'The run ends here, and its open nodes are cancelled.',
  'options/args': 'Without any, a run accepts each JSON value as its input.',
  'options/deadlineSeconds': 'A run fails after this time. Empty: 7 days, and longer while it waits.',
  'options/maxConcurrentRuns': 'Other runs wait. Empty: no limit.',
  'options/budget': 'A run fails when it has used this much.',
  'settings/outputVariable': 'Other nodes read the output as ctx.<name>.',
  'settings/errorHandling': 'After the last attempt: continue at the error edge, or fail the run.',
  'settings/joinMode': 'When the node runs, if several edges lead to it.',
  'settings/timeoutMs': 'Of one attempt, in ms.',
  'settings/isDisabled': 'The node is skipped.',
};

export const helpOf = (path: readonly string[]): string | undefined => helps[path.join('/')];

const names: Readonly<Record<string, string>> = {
  args: 'Arguments',
  deadlineSeconds: 'Deadline, in seconds',
  maxConcurrentRuns: 'Runs at once',
  maxNodeExecutions: 'Attempts and calls',
  maxTokens: 'Tokens of models',
  outputParameters: 'Outputs',
  conditionLogic: 'All or one of them',
  timeoutMs: 'Timeout, in ms',
  backoffMs: 'Wait before the second attempt, in ms',
  maxBackoffMs: 'Longest wait, in ms',
};

/** `maxResponseBytes` → `Max response bytes`. */
export const labelOf = (name: string): string => {
  const given = names[name];
  if (given !== undefined) return given;
  const words = name
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, (_, before: string, after: string) => `${before} ${after.toLowerCase()}`);
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}`;
};

/** Whether the text is the name of a model. */
export const isModelName = (path: readonly string[]): boolean => path.join('/') === 'lens/model';

/** The fields whose text is JavaScript. */
const scripts: ReadonlySet<string> = new Set([
  'javascript/code',
  'condition/branches/conditions/expression',
  'condition/branches/expression',
  'condition/branches/condition',
]);

export const isScript = (path: readonly string[]): boolean => scripts.has(path.join('/'));
