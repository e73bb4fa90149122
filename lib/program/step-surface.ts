/** `step`, as the author's code sees it: arguments are judged here, as soon as they come. */
import { rollbackPrefix } from '../engine/durable/step.ts';
import type { RunFacts } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';
import { longestSignalWord } from '../engine/signal.ts';
import { type Instant, after, days, durationMs, instant } from '../engine/time.ts';
import { parseDuration } from '../sdk/duration.ts';
import { NonRetryableError, StepError } from '../sdk/errors.ts';
import type { StandardSchema } from '../sdk/standard-schema.ts';
import type { BodyContext, FunctionStep, Request } from './ask.ts';
import { checkWith } from './schema-check.ts';
import { stepRetryOf } from './step-policy.ts';
import { storedValue } from './stored-value.ts';

/** As `Step` of the SDK says it, with what authors may give in spite of that. */
export interface StepSurface {
  run(options: unknown, body: unknown): Promise<unknown>;
  sleep(name: unknown, duration: unknown): Promise<void>;
  sleepUntil(name: unknown, moment: unknown): Promise<void>;
  runWorkflow(workflow: unknown, input?: unknown, options?: unknown): Promise<unknown>;
  waitForSignal(options: unknown): Promise<unknown>;
  sendSignal(options: unknown): Promise<unknown>;
}

export interface Asked {
  readonly key: string;
  readonly result: Promise<JsonValue>;
}

const longestName = 256;
/** the last moment that a date can be */
const latest = 8.64e15;
/** how long a workflow that is called is waited for, unless the caller says otherwise */
const longWait = days(365.25);

export function stepSurface({ runId }: RunFacts, now: () => Instant, ask: (request: Request) => Asked): StepSurface {
  const sleepUntil = (name: unknown, wakeAt: () => Instant) =>
    judged(async () => {
      const moment = wakeAt();
      await ask({ kind: 'sleep', name: nameIn(name), command: (key) => ({ kind: 'sleep', key, wakeAt: moment }) }).result;
    });
  const signalIn = ({ name, signal, correlation }: Given) => ({
    name: nameIn(name ?? signal),
    signal: wordIn(signal, 'signal'),
    correlation: wordIn(correlation ?? runId, 'correlation'),
  });
  return {
    run: (options, body) =>
      judged(() => {
        const given = givenIn(options, 'step.run takes { name, … } and a function');
        const work = workIn(given, body);
        const { retry, rollback } = work;
        const command: Request['command'] = (key) => ({
          kind: 'function',
          key,
          ...(retry === undefined ? {} : { retry }),
          ...(rollback === undefined ? {} : { hasRollback: true }),
        });
        return ask({ kind: 'function', name: nameIn(given['name']), command, work }).result;
      }),
    sleep: (name, duration) => sleepUntil(name, () => momentAfter(now(), duration)),
    sleepUntil: (name, moment) => sleepUntil(name, () => momentIn(moment)),
    runWorkflow: (workflow, input, options = {}) =>
      judged(() => {
        const given = givenIn(options, 'the options of step.runWorkflow are { name, timeout }');
        const workflowName = workflowIn(workflow);
        const stored = storedIn(input, 'input');
        const expiresAt = given['timeout'] === undefined ? after(now(), longWait) : expiryIn(given['timeout'], now());
        const command: Request['command'] = (key) => ({ kind: 'workflow', key, workflowName, input: stored, expiresAt });
        return ask({ kind: 'workflow', name: nameIn(given['name'] ?? workflowName), target: workflowName, command }).result;
      }),
    waitForSignal: (options) =>
      judged(async () => {
        const given = givenIn(options, 'step.waitForSignal takes { signal, … }');
        const { name, signal, correlation } = signalIn(given);
        const schema = schemaIn(given['schema']);
        const expiry = given['timeout'] === undefined ? {} : { expiresAt: expiryIn(given['timeout'], now()) };
        const command: Request['command'] = (key) => ({ kind: 'signal-wait', key, signal, correlation, ...expiry });
        const { key, result } = ask({ kind: 'signal-wait', name, target: signal, command });
        return checkedSignal(key, await result, schema);
      }),
    sendSignal: (options) =>
      judged(() => {
        const given = givenIn(options, 'step.sendSignal takes { signal, … }');
        const { name, signal, correlation } = signalIn(given);
        const data = storedIn(given['data'], 'data');
        const command: Request['command'] = (key) => ({ kind: 'signal-send', key, signal, correlation, data });
        return ask({ kind: 'signal-send', name, target: signal, command }).result;
      }),
  };
}

type Given = Readonly<Record<string, unknown>>;

/** What is wrong with the arguments now is wrong each time the code is run. */
function judged<Result>(asking: () => Promise<Result>): Promise<Result> {
  const asked = (async () => {
    try {
      return await asking();
    } catch (error) {
      throw error instanceof TypeError ? new NonRetryableError(error.message, { code: 'step_invalid' }) : error;
    }
  })();
  // A step that fails, and that nobody awaits, is on record; it breaks nothing.
  asked.catch(() => {});
  return asked;
}

function givenIn(options: unknown, shape: string): Given {
  if (typeof options !== 'object' || options === null) throw new TypeError(shape);
  return { ...options };
}

function nameIn(name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.length > longestName || !name.isWellFormed())
    throw new TypeError(`the name of a step is a text of 1 to ${longestName} characters, and not ${spelled(name)}`);
  if (name.startsWith(rollbackPrefix)) throw new TypeError(`no name of a step begins with ${rollbackPrefix}: ${spelled(name)}`);
  return name;
}

function wordIn(word: unknown, what: string): string {
  if (typeof word !== 'string' || word === '' || word.length > longestSignalWord || !word.isWellFormed())
    throw new TypeError(`the ${what} is a text of 1 to ${longestSignalWord} characters, and not ${spelled(word)}`);
  return word;
}

const isBody = (value: unknown): value is FunctionStep['body'] => typeof value === 'function';
const isRollback = (value: unknown): value is FunctionStep['rollback'] => value === undefined || typeof value === 'function';

function workIn({ retryPolicy, rollback, idempotent }: Given, body: unknown): FunctionStep {
  if (!isBody(body)) throw new TypeError('step.run takes { name, … } and a function');
  if (!isRollback(rollback)) throw new TypeError('the rollback of a step is a function');
  const retry = stepRetryOf(retryPolicy);
  const run: FunctionStep['body'] = (context: BodyContext) => body(context);
  return {
    body: run,
    ...(retry === undefined ? {} : { retry }),
    ...(rollback === undefined ? {} : { rollback }),
    ...(idempotent === true ? { isIdempotent: true } : {}),
  };
}

function workflowIn(workflow: unknown): string {
  const given = givenIn(workflow, 'step.runWorkflow takes a workflow, or its spec');
  const name = given['spec'] === undefined ? given['name'] : givenIn(given['spec'], 'a workflow has a spec')['name'];
  if (typeof name !== 'string') throw new TypeError('step.runWorkflow takes a workflow, or its spec: this one has no name');
  return name;
}

const isSchema = (value: unknown): value is StandardSchema =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;

function schemaIn(schema: unknown): StandardSchema | undefined {
  if (schema === undefined || isSchema(schema)) return schema;
  throw new TypeError('the schema is none of the Standard Schema interface');
}

const expiryIn = (timeout: unknown, now: Instant): Instant =>
  timeout instanceof Date ? momentIn(timeout) : momentAfter(now, timeout);

const momentAfter = (now: Instant, duration: unknown): Instant =>
  bounded(after(now, durationMs(parseDuration(duration))), duration);

function momentIn(moment: unknown): Instant {
  const ms = moment instanceof Date ? moment.getTime() : typeof moment === 'string' ? Date.parse(moment) : moment;
  if (typeof ms !== 'number' || !Number.isFinite(ms)) throw new TypeError(`no moment: ${spelled(moment)}`);
  return bounded(instant(ms), moment);
}

function bounded(moment: Instant, given: unknown): Instant {
  if (Math.abs(moment) > latest) throw new TypeError(`no date is that far away: ${spelled(given)}`);
  return moment;
}

function storedIn(value: unknown, what: 'input' | 'data'): JsonValue {
  const storing = storedValue(value, what);
  if (storing.kind === 'stored') return storing.value;
  const { message, code, details } = storing.failure;
  throw new NonRetryableError(message, {
    ...(code === undefined ? {} : { code }),
    ...(details === undefined ? {} : { details }),
  });
}

async function checkedSignal(step: string, answer: JsonValue, schema: StandardSchema | undefined): Promise<unknown> {
  if (schema === undefined || typeof answer !== 'object' || answer === null || !('data' in answer)) return answer;
  const checked = await checkWith(schema, answer['data']);
  if (checked.kind === 'valid') return { data: checked.value };
  const { message, issues } = checked;
  throw new StepError(`the signal brought what was not expected: ${message}`, {
    step,
    cause: 'contract_violated',
    code: 'signal_invalid',
    details: { issues },
  });
}

const spelled = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : value === null ? 'null' : typeof value;
