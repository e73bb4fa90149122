/**
 * One pass of the author's function, from its beginning: it asks for steps, and is told what they came to. A pass that is left
 * stands still for ever, because nothing that it awaits is ever settled; no `try` of the author's can tell.
 */
import { defined } from '../engine/defined.ts';
import type { History, RunFacts, StepResult } from '../engine/durable/command-batch.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import { type PendingStep, type StepRequest, isWait } from './step-request.ts';
import { createSeededRandom } from './seeded-random.ts';
import { stepErrorOf } from './failures.ts';
import type { ProgramArguments, ProgramWorkflow } from './find-workflow.ts';
import { stepScope } from './printed.ts';
import { type Print, programLog } from './program-log.ts';
import { StepKeys } from './step-keys.ts';
import { type RequestedStep, createStepApi } from './step-api.ts';
import { deepCopy } from './stored-value.ts';

export interface InvocationSettings {
  readonly run: RunFacts;
  readonly workflow: ProgramWorkflow;
  readonly input: unknown;
  readonly history: Pick<History<JsonValue>, 'priorResults' | 'attempt'>;
  readonly now: () => Instant;
  readonly print: Print;
  /** the code has asked for something, or has ended */
  readonly onProgress: () => void;
}

export type InvocationEnd =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown };

type PriorResult = History<JsonValue>['priorResults'][number];

/** A step that is done, and what it came to. */
export interface CompletedStep {
  readonly step: PendingStep;
  readonly output: JsonValue;
}

export class WorkflowInvocation {
  readonly #settings: InvocationSettings;
  readonly #priorResults: ReadonlyMap<string, PriorResult>;
  readonly #keys = new StepKeys();
  readonly #requested: PendingStep[] = [];
  readonly #open = new Map<string, PendingStep>();
  readonly #priorCompleted = new Map<string, CompletedStep>();
  readonly #completed: CompletedStep[] = [];
  #openWaits = 0;
  #now: Instant;
  #isLive = false;
  #end: InvocationEnd | undefined;
  #nondeterminism: { readonly prior: PriorResult; readonly step: StepRequest } | undefined;

  constructor(settings: InvocationSettings) {
    this.#settings = settings;
    this.#priorResults = new Map(settings.history.priorResults.map((prior) => [prior.key, prior]));
    this.#now = settings.run.createdAt;
  }

  start(): void {
    const { workflow, onProgress } = this.#settings;
    const ended = (end: InvocationEnd): void => {
      this.#end = end;
      onProgress();
    };
    // Its own tick: what it throws at once is thrown like what it throws later.
    void Promise.resolve(this.#arguments())
      .then((args) => workflow.fn(args))
      .then(
        (value) => ended({ kind: 'returned', value }),
        (error: unknown) => ended({ kind: 'threw', error }),
      );
  }

  /** Undefined while the function is at it. */
  get end(): InvocationEnd | undefined {
    return this.#end;
  }

  /** There is something that ends by itself, and that the code was not told of yet. */
  get isWaiting(): boolean {
    return this.#openWaits > 0;
  }

  /** The code asks under a key that an earlier attempt of the workflow has used for something else. */
  get nondeterminism(): { readonly prior: PriorResult; readonly step: StepRequest } | undefined {
    return this.#nondeterminism;
  }

  /** What it has done, the last at the end; what earlier attempts of the workflow did comes before. */
  get done(): readonly CompletedStep[] {
    const prior = [...this.#priorResults.values()]
      .toSorted((one, other) => one.endedAt - other.endedAt)
      .flatMap(({ key }) => this.#priorCompleted.get(key) ?? []);
    return [...prior, ...this.#completed];
  }

  /** From here on nothing is recorded yet, and the logger speaks. */
  goLive(): void {
    this.#isLive = true;
  }

  /** It has asked for something that nobody has taken yet. */
  get hasRequestedSteps(): boolean {
    return this.#requested.length > 0;
  }

  /** What the code has asked for next, in its order. */
  takeRequested(): PendingStep | undefined {
    return this.#requested.shift();
  }

  /** Of a step that was asked for and is not settled. */
  stepOf(key: string): PendingStep | undefined {
    return this.#open.get(key);
  }

  settle(key: string, result: StepResult<JsonValue>): void {
    const step = this.#open.get(key);
    invariant(step !== undefined, `step ${JSON.stringify(key)} was settled and is not open`);
    this.#open.delete(key);
    if (isWait(step)) this.#openWaits -= 1;
    this.#deliver(step, result, this.#completed);
  }

  #deliver(step: PendingStep, result: StepResult<JsonValue>, done: CompletedStep[]): void {
    if (result.endedAt > this.#now) this.#now = result.endedAt;
    if (result.status === 'failed') return step.reject(stepErrorOf(step.key, result.failure));
    done.push({ step, output: result.output });
    // The code may change what it is given, and the log may not.
    step.resolve(deepCopy(result.output));
  }

  #request(request: StepRequest): RequestedStep {
    // What goes on after the function has ended is none of the run's.
    if (this.#end !== undefined) return { key: request.name, result: new Promise(() => {}) };
    const key = this.#keys.take(request.name);
    const { promise, resolve, reject } = Promise.withResolvers<JsonValue>();
    const { kind, target, functionStep } = request;
    const step: PendingStep = defined({
      key,
      kind,
      command: request.command(key),
      resolve,
      reject,
      target,
      functionStep,
    });
    const prior = this.#priorResults.get(key);
    if (prior === undefined) this.#enqueue(step);
    else if (prior.step !== kind) this.#nondeterminism ??= { prior, step: request };
    else {
      const done: CompletedStep[] = [];
      this.#deliver(step, { status: 'completed', output: prior.output, endedAt: prior.endedAt }, done);
      for (const each of done) this.#priorCompleted.set(key, each);
    }
    return { key, result: promise };
  }

  #enqueue(step: PendingStep): void {
    this.#open.set(step.key, step);
    if (isWait(step)) this.#openWaits += 1;
    this.#requested.push(step);
    this.#settings.onProgress();
  }

  #arguments(): ProgramArguments {
    const { run, input, history, now, print } = this.#settings;
    const workflowRandom = createSeededRandom(run.runId);
    // Bodies run once, and in no certain order: they have their own time and numbers, and do not use up the code's.
    const currentRandom = () => stepScope.getStore()?.seededRandom ?? workflowRandom;
    return {
      input,
      step: createStepApi(run, now, (request) => this.#request(request)),
      run: Object.freeze({
        id: run.runId,
        workflowName: run.workflowName,
        createdAt: new Date(run.createdAt),
        deadlineAt: new Date(run.deadlineAt),
        attempt: history.attempt,
      }),
      version: run.version,
      log: programLog(print, () => !this.#isLive && stepScope.getStore() === undefined),
      now: () => new Date(stepScope.getStore() === undefined ? this.#now : now()),
      random: () => currentRandom().random(),
      uuid: () => currentRandom().uuid(),
    };
  }
}
