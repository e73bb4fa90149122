/**
 * One invocation of the author's function: collects the steps that it requests, and settles their promises. An abandoned
 * invocation never continues, because its promises are never settled. The author's `try` blocks do not see this.
 */
import { defined } from '../base/defined.ts';
import type { History, RunFacts, StepResult } from '../engine/durable/command-batch.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import { type PendingStep, type StepRequest, isWait } from './step-request.ts';
import { createSeededRandom } from './seeded-random.ts';
import { stepErrorOf } from './failures.ts';
import type { ProgramArguments, ProgramWorkflow } from './find-workflow.ts';
import { type Print, stepScope, programLog } from './printed.ts';
import { type RequestedStep, createStepApi } from './step-api.ts';
import { deepCopy } from './stored-value.ts';

export interface InvocationSettings {
  readonly run: RunFacts;
  readonly workflow: ProgramWorkflow;
  readonly input: unknown;
  readonly history: Pick<History<JsonValue>, 'priorResults' | 'attempt'>;
  readonly now: () => Instant;
  readonly print: Print;
  /** called when the code requests a step or ends */
  readonly onProgress: () => void;
}

export type InvocationEnd =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown };

type PriorResult = History<JsonValue>['priorResults'][number];

/** A completed step and its output. */
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
    // A promise callback handles synchronous and asynchronous errors alike.
    void Promise.resolve(this.#arguments())
      .then((args) => workflow.fn(args))
      .then(
        (value) => ended({ kind: 'returned', value }),
        (error: unknown) => ended({ kind: 'threw', error }),
      );
  }

  /** Undefined while the function runs. */
  get end(): InvocationEnd | undefined {
    return this.#end;
  }

  /** The code has requested a timer, a signal or a child run that has not ended. */
  get isWaiting(): boolean {
    return this.#openWaits > 0;
  }

  /** Set when the code requests another step under a key that an earlier attempt of the workflow has used. */
  get nondeterminism(): { readonly prior: PriorResult; readonly step: StepRequest } | undefined {
    return this.#nondeterminism;
  }

  /** Completed steps in order of completion. Steps of earlier workflow attempts come first. */
  get completed(): readonly CompletedStep[] {
    const prior = [...this.#priorResults.values()]
      .toSorted((one, other) => one.endedAt - other.endedAt)
      .flatMap(({ key }) => this.#priorCompleted.get(key) ?? []);
    return [...prior, ...this.#completed];
  }

  /** The replay has reached the end of the recorded history: enables the logger. */
  goLive(): void {
    this.#isLive = true;
  }

  /** There are requested steps that are not taken yet. */
  get hasRequestedSteps(): boolean {
    return this.#requested.length > 0;
  }

  /** Takes the next requested step, in request order. */
  takeRequested(): PendingStep | undefined {
    return this.#requested.shift();
  }

  /** A requested step that is not settled. */
  stepOf(key: string): PendingStep | undefined {
    return this.#open.get(key);
  }

  settle(key: string, result: StepResult<JsonValue>): void {
    const step = this.#open.get(key);
    invariant(step !== undefined, `step ${JSON.stringify(key)} was settled but is not open`);
    this.#open.delete(key);
    if (isWait(step)) this.#openWaits -= 1;
    this.#deliver(step, result, this.#completed);
  }

  #deliver(step: PendingStep, result: StepResult<JsonValue>, completed: CompletedStep[]): void {
    if (result.endedAt > this.#now) this.#now = result.endedAt;
    if (result.status === 'failed') return step.reject(stepErrorOf(step.key, result.failure));
    completed.push({ step, output: result.output });
    // The code may modify the value it gets; the log must not change.
    step.resolve(deepCopy(result.output));
  }

  #request(request: StepRequest): RequestedStep {
    // Steps that the code requests after its end are ignored.
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
      const completed: CompletedStep[] = [];
      this.#deliver(step, { status: 'completed', output: prior.output, endedAt: prior.endedAt }, completed);
      for (const each of completed) this.#priorCompleted.set(key, each);
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
    // Step functions run once and in no fixed order. They use their own time and random numbers, so that replays stay deterministic.
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

/** Assigns step keys: the name itself, then `name:1`, `name:2`, skipping used keys. All kinds of steps share them. */
class StepKeys {
  readonly #used = new Set<string>();
  readonly #next = new Map<string, number>();

  take(name: string): string {
    const key = this.#used.has(name) ? this.#numbered(name) : name;
    this.#used.add(key);
    return key;
  }

  #numbered(name: string): string {
    let number = this.#next.get(name) ?? 1;
    while (this.#used.has(`${name}:${number}`)) number += 1;
    this.#next.set(name, number + 1);
    return `${name}:${number}`;
  }
}
