/** The `step` object that the author's code calls. It validates arguments and turns calls into step requests. */
import { defined } from '../base/defined.ts';
import { rollbackPrefix } from '../engine/durable/step.ts';
import type { RunFacts } from '../engine/durable/command-batch.ts';
import type { JsonValue } from '../engine/json.ts';
import { maxSignalTextLength } from '../engine/ids.ts';
import { type Instant, after, days, durationMs, instant } from '../engine/time.ts';
import { parseDuration } from '../sdk/duration.ts';
import { NonRetryableError, StepError } from '../sdk/errors.ts';
import type { StandardSchema } from '../sdk/standard-schema.ts';
import { type StepFunctionContext, type FunctionStep, type StepRequest, stepRetryOf } from './step-request.ts';
import { validateWith } from './schema-check.ts';
import { storedValue } from './stored-value.ts';

/** `Step` of the SDK with unchecked arguments: authors may ignore the types. */
export interface StepApi {
  run(options: unknown, stepFunction: unknown): Promise<unknown>;
  sleep(name: unknown, duration: unknown): Promise<void>;
  sleepUntil(name: unknown, moment: unknown): Promise<void>;
  runWorkflow(workflow: unknown, input?: unknown, options?: unknown): Promise<unknown>;
  waitForSignal(options: unknown): Promise<unknown>;
  sendSignal(options: unknown): Promise<unknown>;
}

export interface RequestedStep {
  readonly key: string;
  readonly result: Promise<JsonValue>;
}

export const maxStepNameLength = 256;
/** the largest time value of a Date */
const maxDateMs = 8.64e15;
/** default timeout of `runWorkflow` */
export const defaultCallTimeout = days(365.25);

export function createStepApi(
  { runId }: RunFacts,
  now: () => Instant,
  request: (request: StepRequest) => RequestedStep,
): StepApi {
  const sleepUntil = (name: unknown, wakeAt: () => Instant) =>
    withArgumentErrors(async () => {
      const moment = wakeAt();
      await request({ kind: 'sleep', name: nameIn(name), command: (key) => ({ kind: 'sleep', key, wakeAt: moment }) }).result;
    });
  return {
    run: (options, stepFunction) =>
      withArgumentErrors(() => {
        const given = objectIn(options, 'step.run takes { name, … } and a function');
        const functionStep = functionStepIn(given, stepFunction);
        const { retry, rollback } = functionStep;
        const command: StepRequest['command'] = (key) =>
          defined({
            kind: 'function',
            key,
            retry,
            hasRollback: rollback === undefined ? undefined : true,
          });
        return request({ kind: 'function', name: nameIn(given['name']), command, functionStep }).result;
      }),
    sleep: (name, duration) => sleepUntil(name, () => momentAfter(now(), duration)),
    sleepUntil: (name, moment) => sleepUntil(name, () => momentIn(moment)),
    runWorkflow: (workflow, input, options = {}) =>
      withArgumentErrors(() => {
        const given = objectIn(options, 'the options of step.runWorkflow are { name, timeout }');
        const workflowName = workflowIn(workflow);
        const stored = storedIn(input, 'input');
        const expiresAt = given['timeout'] === undefined ? after(now(), defaultCallTimeout) : expiryIn(given['timeout'], now());
        const command: StepRequest['command'] = (key) => ({ kind: 'workflow', key, workflowName, input: stored, expiresAt });
        return request({ kind: 'workflow', name: nameIn(given['name'] ?? workflowName), target: workflowName, command }).result;
      }),
    waitForSignal: (options) =>
      withArgumentErrors(async () => {
        const given = objectIn(options, 'step.waitForSignal takes { signal, … }');
        const { name, signal, correlation } = signalIn(given, runId);
        const schema = schemaIn(given['schema']);
        const expiry = given['timeout'] === undefined ? {} : { expiresAt: expiryIn(given['timeout'], now()) };
        const command: StepRequest['command'] = (key) => ({ kind: 'signal-wait', key, signal, correlation, ...expiry });
        const { key, result } = request({ kind: 'signal-wait', name, target: signal, command });
        return validatedSignal(key, await result, schema);
      }),
    sendSignal: (options) =>
      withArgumentErrors(() => {
        const given = objectIn(options, 'step.sendSignal takes { signal, … }');
        const { name, signal, correlation } = signalIn(given, runId);
        const data = storedIn(given['data'], 'data');
        const command: StepRequest['command'] = (key) => ({ kind: 'signal-send', key, signal, correlation, data });
        return request({ kind: 'signal-send', name, target: signal, command }).result;
      }),
  };
}

type Given = Readonly<Record<string, unknown>>;

/** The default correlation is the run id. */
const signalIn = ({ name, signal, correlation }: Given, runId: RunFacts['runId']) => ({
  name: nameIn(name ?? signal),
  signal: identifierIn(signal, 'signal'),
  correlation: identifierIn(correlation ?? runId, 'correlation'),
});

/** Wrong arguments are wrong in each replay, so the error is not retryable. */
function withArgumentErrors<Result>(operation: () => Promise<Result>): Promise<Result> {
  const result = (async () => {
    try {
      return await operation();
    } catch (error) {
      throw error instanceof TypeError ? new NonRetryableError(error.message, { code: 'step_invalid' }) : error;
    }
  })();
  // The failure is recorded. A promise that the code does not await must not become an unhandled rejection.
  result.catch(() => {});
  return result;
}

function objectIn(options: unknown, shape: string): Given {
  if (typeof options !== 'object' || options === null) throw new TypeError(shape);
  return { ...options };
}

function nameIn(name: unknown): string {
  if (typeof name !== 'string' || name === '' || name.length > maxStepNameLength || !name.isWellFormed())
    throw new TypeError(
      `the name of a step must be a string of 1 to ${maxStepNameLength} characters, and is ${describeValue(name)}`,
    );
  if (name.startsWith(rollbackPrefix))
    throw new TypeError(`the name of a step must not start with ${rollbackPrefix}: ${describeValue(name)}`);
  return name;
}

function identifierIn(value: unknown, what: string): string {
  if (typeof value !== 'string' || value === '' || value.length > maxSignalTextLength || !value.isWellFormed())
    throw new TypeError(`the ${what} must be a string of 1 to ${maxSignalTextLength} characters, and is ${describeValue(value)}`);
  return value;
}

const isStepFunction = (value: unknown): value is FunctionStep['stepFunction'] => typeof value === 'function';
const isRollback = (value: unknown): value is FunctionStep['rollback'] => value === undefined || typeof value === 'function';

function functionStepIn({ retryPolicy, rollback, idempotent }: Given, stepFunction: unknown): FunctionStep {
  if (!isStepFunction(stepFunction)) throw new TypeError('step.run takes { name, … } and a function');
  if (!isRollback(rollback)) throw new TypeError('the rollback of a step must be a function');
  const retry = stepRetryOf(retryPolicy);
  const run: FunctionStep['stepFunction'] = (context: StepFunctionContext) => stepFunction(context);
  return defined({
    stepFunction: run,
    retry,
    rollback,
    isIdempotent: idempotent === true ? true : undefined,
  });
}

function workflowIn(workflow: unknown): string {
  const given = objectIn(workflow, 'step.runWorkflow takes a workflow, or its spec');
  const name =
    given['spec'] === undefined ? given['name'] : objectIn(given['spec'], 'the spec of a workflow must be an object')['name'];
  if (typeof name !== 'string') throw new TypeError('step.runWorkflow takes a workflow or its spec, with a name');
  return name;
}

const isSchema = (value: unknown): value is StandardSchema =>
  (typeof value === 'object' || typeof value === 'function') && value !== null && '~standard' in value;

function schemaIn(schema: unknown): StandardSchema | undefined {
  if (schema === undefined || isSchema(schema)) return schema;
  throw new TypeError('the schema does not implement Standard Schema');
}

const expiryIn = (timeout: unknown, now: Instant): Instant =>
  timeout instanceof Date ? momentIn(timeout) : momentAfter(now, timeout);

const momentAfter = (now: Instant, duration: unknown): Instant =>
  withinDateRange(after(now, durationMs(parseDuration(duration))), duration);

function momentIn(moment: unknown): Instant {
  const ms = moment instanceof Date ? moment.getTime() : typeof moment === 'string' ? Date.parse(moment) : moment;
  if (typeof ms !== 'number' || !Number.isFinite(ms)) throw new TypeError(`not a valid time: ${describeValue(moment)}`);
  return withinDateRange(instant(ms), moment);
}

function withinDateRange(moment: Instant, given: unknown): Instant {
  if (Math.abs(moment) > maxDateMs) throw new TypeError(`the time is out of the range of a Date: ${describeValue(given)}`);
  return moment;
}

function storedIn(value: unknown, what: 'input' | 'data'): JsonValue {
  const stored = storedValue(value, what);
  if (stored.kind === 'stored') return stored.value;
  const { message, code, details } = stored.failure;
  throw new NonRetryableError(
    message,
    defined({
      code,
      details,
    }),
  );
}

async function validatedSignal(step: string, received: JsonValue, schema: StandardSchema | undefined): Promise<unknown> {
  if (schema === undefined || typeof received !== 'object' || received === null || !('data' in received)) return received;
  const checked = await validateWith(schema, received['data']);
  if (checked.kind === 'valid') return { data: checked.value };
  const { message, issues } = checked;
  throw new StepError(`the data of the signal does not match the schema: ${message}`, {
    step,
    cause: 'contract_violated',
    code: 'signal_invalid',
    details: { issues },
  });
}

const describeValue = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? JSON.stringify(value) : value === null ? 'null' : typeof value;
