/** The bench of a test: workflows, and a platform for them in this process, where time passes when nothing else can go on. */
import { defined } from '../engine/defined.ts';
import { runId, workflowName } from '../engine/ids.ts';
import { after, durationMs, instant } from '../engine/time.ts';
import type { Print } from '../program/program-log.ts';
import { type Duration, parseDuration } from '../sdk/duration.ts';
import { defaultSignalTtl, sendSignal } from '../service/runs/send-signal.ts';
import { startRun } from '../service/runs/start-run.ts';
import type { CrashTime } from './crash-injector.ts';
import { TestError } from './errors.ts';
import { type AnyWorkflow, type StepFunction, type Startable, isStepFunction, nameOf } from './workflow-fixture.ts';
import { TestEnv, scope } from './test-env.ts';
import { type StepCall, Stubs } from './stubs.ts';
import { TestRun, jsonOf } from './test-run.ts';

export interface WorkflowTestOptions {
  /** what `defineWorkflow` gave: the workflows that are started, and those that they call */
  readonly workflows: readonly AnyWorkflow[];
  /** when the test begins; absent: 2026-01-01T00:00:00Z */
  readonly startAt?: Date;
  /** of ids and of chance: the same number gives the same run; absent: 1 */
  readonly seed?: number;
  /** where the workflows' `log` goes; absent: to the console */
  readonly print?: Print;
}

export interface TestStartOptions {
  /** the run fails if it has not ended by then: a length of time or a moment, as on the platform 7 days by default */
  readonly deadline?: Duration | Date;
}

export interface TestSignal {
  readonly signal: string;
  readonly correlation: string;
  readonly data?: unknown;
  /** how long it is kept for a wait that has not begun; absent: a day */
  readonly expiresIn?: Duration;
}

/**
 * Plays workflows as the platform does, with its own code and stores in memory: no thread, no bundle, no network. A sleep of a
 * year takes milliseconds, because the clock moves by itself where nothing else can go on.
 *
 *     const test = new WorkflowTest({ workflows: [remindLater] });
 *     const run = await test.start(remindLater, { text: 'water', seconds: 3_600 });
 *     expect(await run.result()).toBe('Remember: water');
 */
export class WorkflowTest {
  readonly #env: TestEnv;
  readonly #stubs = new Stubs();

  constructor({ workflows, startAt, seed = 1, print }: WorkflowTestOptions) {
    const at = startAt === undefined ? undefined : instant(startAt.getTime());
    this.#env = new TestEnv({ workflows, stubs: this.#stubs, startAt: at, seed, print });
  }

  /** Starts a run. It goes on while `result()` is awaited, or `advance()`. @throws TestError */
  async start<Input, Output, RawInput>(
    workflow: Startable<Input, Output, RawInput>,
    ...[input, { deadline } = {}]: undefined extends RawInput
      ? [input?: RawInput, options?: TestStartOptions]
      : [input: RawInput, options?: TestStartOptions]
  ): Promise<TestRun<Output>> {
    const name = nameOf(workflow);
    const key = `start-${this.#env.nextNumber()}`;
    const now = this.#env.ports.clock.now();
    const response = await this.#env.call((worker) =>
      startRun(
        worker,
        defined({
          scope,
          idempotencyKey: key,
          bodyHash: key,
          workflowName: workflowName(name),
          input: input === undefined ? undefined : jsonOf(input),
          deadlineAt:
            deadline === undefined
              ? undefined
              : deadline instanceof Date
                ? instant(deadline.getTime())
                : after(now, durationMs(parseDuration(deadline))),
        }),
      ),
    );
    if (response.kind === 'workflow_not_found') throw new TestError('workflow_unknown', `the test was given no workflow ${name}`);
    if (response.kind !== 'started') throw new TestError('unexpected', `the run was not started: ${response.kind}`);
    return new TestRun<Output>(this.#env, { ...scope, runId: runId(response.runId) });
  }

  /** Sends a signal to whoever waits for it, or will within a day. */
  async sendSignal({ signal, correlation, data, expiresIn }: TestSignal): Promise<void> {
    const key = `signal-${this.#env.nextNumber()}`;
    await this.#env.call((worker) =>
      sendSignal(worker, scope, {
        name: signal,
        correlation,
        payload: jsonOf(data),
        bodyHash: key,
        idempotencyKey: key,
        expiresIn: expiresIn === undefined ? defaultSignalTtl : durationMs(parseDuration(expiresIn)),
      }),
    );
  }

  /** Everything happens that happens within this time; `advance(0)`: all that is to be done now. */
  async advance(duration: Duration): Promise<void> {
    await this.#env.runUntilTime(after(this.#env.ports.clock.now(), durationMs(parseDuration(duration))));
  }

  /** The time of the test. */
  now(): Date {
    return new Date(this.#env.ports.clock.now());
  }

  /**
   * From now on the step comes to this, and its body is not run: a value, an error that is thrown (and tried again as the step's
   * policy says; a NonRetryableError is not), or a function in the body's place. By the step's key or, for all steps that have
   * it, its name; a rollback is `rollback:<name>`.
   */
  stub(step: string, replacement: unknown): this {
    this.#stubs.set(step, isStepFunction(replacement) ? replacement : stepFunctionOf(replacement));
    return this;
  }

  /** The bodies that were begun, stubs included, of a step's key or of all steps that have the name. */
  calls(step: string): readonly StepCall[] {
    return this.#stubs.calls(step);
  }

  /**
   * The machine dies once, before or after the commit that says what this step came to (by its key), and the run goes on
   * elsewhere. `before`: what the body did is not on record, and it is run again.
   */
  crashAt(step: string, when: CrashTime = 'after'): this {
    this.#env.crashes.crashPoint({ step, time: when });
    return this;
  }

  /** Likewise, at the n-th commit of all runs of this test together, from 1; `writes` says how many there were. */
  crashAtWrite(write: number, when: CrashTime = 'after'): this {
    this.#env.crashes.crashPoint({ write, time: when });
    return this;
  }

  /** commits of all runs so far, tried or done */
  get writes(): number {
    return this.#env.crashes.writes;
  }

  /** how often a machine has died */
  get crashes(): number {
    return this.#env.crashes.count;
  }
}

const stepFunctionOf =
  (replacement: unknown): StepFunction =>
  () => {
    if (replacement instanceof Error) throw replacement;
    return replacement;
  };
