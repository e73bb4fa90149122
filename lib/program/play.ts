/**
 * One pass of the author's function, from its beginning: it asks for steps, and is told what they came to. A pass that is left
 * stands still for ever, because nothing that it awaits is ever settled; no `try` of the author's can tell.
 */
import type { History, RunFacts, StepResult } from '../engine/durable/turn.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import { type Ask, type Request, isWait } from './ask.ts';
import { chanceOf } from './chance.ts';
import { errorOf } from './failures.ts';
import type { ProgramArguments, ProgramWorkflow } from './find-workflow.ts';
import { bodyScope } from './printed.ts';
import { type Print, programLog } from './program-log.ts';
import { StepKeys } from './step-keys.ts';
import { type Asked, stepSurface } from './step-surface.ts';
import { ownCopy } from './stored-value.ts';

export interface PlaySettings {
  readonly run: RunFacts;
  readonly workflow: ProgramWorkflow;
  readonly input: unknown;
  readonly history: Pick<History<JsonValue>, 'kept' | 'attempt'>;
  readonly now: () => Instant;
  readonly print: Print;
  /** the code has asked for something, or has ended */
  readonly onMove: () => void;
}

export type PlayEnd =
  | { readonly kind: 'returned'; readonly value: unknown }
  | { readonly kind: 'threw'; readonly error: unknown };

type Kept = History<JsonValue>['kept'][number];

/** A step that is done, and what it came to. */
export interface Done {
  readonly ask: Ask;
  readonly output: JsonValue;
}

export class Play {
  readonly #settings: PlaySettings;
  readonly #kept: ReadonlyMap<string, Kept>;
  readonly #keys = new StepKeys();
  readonly #issued: Ask[] = [];
  readonly #open = new Map<string, Ask>();
  readonly #answered = new Map<string, Done>();
  readonly #settled: Done[] = [];
  #waits = 0;
  #now: Instant;
  #isLive = false;
  #end: PlayEnd | undefined;
  #stranger: { readonly kept: Kept; readonly ask: Request } | undefined;

  constructor(settings: PlaySettings) {
    this.#settings = settings;
    this.#kept = new Map(settings.history.kept.map((kept) => [kept.key, kept]));
    this.#now = settings.run.createdAt;
  }

  start(): void {
    const { workflow, onMove } = this.#settings;
    const ended = (end: PlayEnd): void => {
      this.#end = end;
      onMove();
    };
    // Its own tick: what it throws at once is thrown like what it throws later.
    void Promise.resolve(this.#arguments())
      .then((given) => workflow.fn(given))
      .then(
        (value) => ended({ kind: 'returned', value }),
        (error: unknown) => ended({ kind: 'threw', error }),
      );
  }

  /** Undefined while the function is at it. */
  get end(): PlayEnd | undefined {
    return this.#end;
  }

  /** There is something that ends by itself, and that the code was not told of yet. */
  get isWaiting(): boolean {
    return this.#waits > 0;
  }

  /** The code asks under a key that an earlier attempt of the workflow has used for something else. */
  get stranger(): { readonly kept: Kept; readonly ask: Request } | undefined {
    return this.#stranger;
  }

  /** What it has done, the last at the end; what earlier attempts of the workflow did comes before. */
  get done(): readonly Done[] {
    const kept = [...this.#kept.values()]
      .toSorted((one, other) => one.endedAt - other.endedAt)
      .flatMap(({ key }) => this.#answered.get(key) ?? []);
    return [...kept, ...this.#settled];
  }

  /** From here on nothing is recorded yet, and the logger speaks. */
  goLive(): void {
    this.#isLive = true;
  }

  /** It has asked for something that nobody has taken yet. */
  get isAsking(): boolean {
    return this.#issued.length > 0;
  }

  /** What the code has asked for next, in its order. */
  takeAsk(): Ask | undefined {
    return this.#issued.shift();
  }

  /** Of a step that was asked for and is not settled. */
  askOf(key: string): Ask | undefined {
    return this.#open.get(key);
  }

  settle(key: string, result: StepResult<JsonValue>): void {
    const ask = this.#open.get(key);
    invariant(ask !== undefined, `step ${JSON.stringify(key)} was settled and is not open`);
    this.#open.delete(key);
    if (isWait(ask)) this.#waits -= 1;
    this.#tell(ask, result, this.#settled);
  }

  #tell(ask: Ask, result: StepResult<JsonValue>, done: Done[]): void {
    if (result.endedAt > this.#now) this.#now = result.endedAt;
    if (result.status === 'failed') return ask.reject(errorOf(ask.key, result.failure));
    done.push({ ask, output: result.output });
    // The code may change what it is given, and the log may not.
    ask.resolve(ownCopy(result.output));
  }

  #ask(request: Request): Asked {
    // What goes on after the function has ended is none of the run's.
    if (this.#end !== undefined) return { key: request.name, result: new Promise(() => {}) };
    const key = this.#keys.take(request.name);
    const { promise, resolve, reject } = Promise.withResolvers<JsonValue>();
    const { kind, target, work } = request;
    const ask: Ask = {
      key,
      kind,
      command: request.command(key),
      resolve,
      reject,
      ...(target === undefined ? {} : { target }),
      ...(work === undefined ? {} : { work }),
    };
    const kept = this.#kept.get(key);
    if (kept === undefined) this.#issue(ask);
    else if (kept.step !== kind) this.#stranger ??= { kept, ask: request };
    else {
      const done: Done[] = [];
      this.#tell(ask, { status: 'completed', output: kept.output, endedAt: kept.endedAt }, done);
      for (const each of done) this.#answered.set(key, each);
    }
    return { key, result: promise };
  }

  #issue(ask: Ask): void {
    this.#open.set(ask.key, ask);
    if (isWait(ask)) this.#waits += 1;
    this.#issued.push(ask);
    this.#settings.onMove();
  }

  #arguments(): ProgramArguments {
    const { run, input, history, now, print } = this.#settings;
    const own = chanceOf(run.runId);
    // Bodies run once, and in no certain order: they have their own time and numbers, and do not use up the code's.
    const chance = () => bodyScope.getStore()?.chance ?? own;
    return {
      input,
      step: stepSurface(run, now, (request) => this.#ask(request)),
      run: Object.freeze({
        id: run.runId,
        workflowName: run.workflowName,
        createdAt: new Date(run.createdAt),
        deadlineAt: new Date(run.deadlineAt),
        attempt: history.attempt,
      }),
      version: run.version,
      log: programLog(print, () => !this.#isLive && bodyScope.getStore() === undefined),
      now: () => new Date(bodyScope.getStore() === undefined ? this.#now : now()),
      random: () => chance().random(),
      uuid: () => chance().uuid(),
    };
  }
}
