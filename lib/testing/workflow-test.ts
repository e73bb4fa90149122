/** The test kit's entry: workflows and a platform in this process, where time advances when nothing else can happen. */
import { defined } from '../base/defined.ts';
import { runId, workflowName } from '../engine/ids.ts';
import { after, durationMs, instant } from '../engine/time.ts';
import type { Print } from '../program/printed.ts';
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
  /** results of `defineWorkflow`: the workflows to start, and those that they call */
  readonly workflows: readonly AnyWorkflow[];
  /** start of the virtual time; default: 2026-01-01T00:00:00Z */
  readonly startAt?: Date;
  /** seed of ids and of random numbers: an equal seed gives an equal run; default: 1 */
  readonly seed?: number;
  /** receives the output of the workflows' `log`; default: the console */
  readonly print?: Print;
}

export interface TestStartOptions {
  /** the run fails if it has not ended by then: a duration or a time; default: 7 days, as on the platform */
  readonly deadline?: Duration | Date;
}

export interface TestSignal {
  readonly signal: string;
  readonly correlation: string;
  readonly data?: unknown;
  /** how long the signal is stored for a wait that has not begun; default: a day */
  readonly expiresIn?: Duration;
}

/**
 * Runs workflows as the platform does, with its own code and stores in memory: no thread, no bundle, no network. A sleep of a
 * year takes milliseconds, because the clock advances when nothing else can happen.
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

  /** Starts a run. It advances while `result()` or `advance()` is awaited. @throws TestError */
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
    if (response.kind === 'workflow_not_found')
      throw new TestError('workflow_unknown', `workflow ${name} is not in the test's workflows`);
    if (response.kind !== 'started') throw new TestError('unexpected', `the run could not be started: ${response.kind}`);
    return new TestRun<Output>(this.#env, { ...scope, runId: runId(response.runId) });
  }

  /** Sends a signal to a run that waits for it, or will within a day. */
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

  /** Advances by this time and does everything that is due; `advance(0)`: everything that is due now. */
  async advance(duration: Duration): Promise<void> {
    await this.#env.runUntilTime(after(this.#env.ports.clock.now(), durationMs(parseDuration(duration))));
  }

  /** The virtual time. */
  now(): Date {
    return new Date(this.#env.ports.clock.now());
  }

  /**
   * Replaces the step's function from now on: by a value, by an error that is thrown (and retried by the step's policy, unless it
   * is a NonRetryableError), or by another function. `step` is the step's key, or the name of all steps that have it; a rollback
   * is `rollback:<name>`.
   */
  stub(step: string, replacement: unknown): this {
    this.#stubs.set(step, isStepFunction(replacement) ? replacement : stepFunctionOf(replacement));
    return this;
  }

  /** The step functions that were started, including stubs, of a step's key or of all steps with the name. */
  calls(step: string): readonly StepCall[] {
    return this.#stubs.calls(step);
  }

  /**
   * Crashes the worker once, before or after the commit with this step's result (by its key). Another worker continues the run.
   * `before`: the result is lost, and the step function runs again.
   */
  crashAt(step: string, when: CrashTime = 'after'): this {
    this.#env.crashes.addCrashPoint({ step, time: when });
    return this;
  }

  /** The same, at the n-th commit of all runs of this test, from 1; `writes` is their number so far. */
  crashAtWrite(write: number, when: CrashTime = 'after'): this {
    this.#env.crashes.addCrashPoint({ write, time: when });
    return this;
  }

  /** commits of all runs so far, including lost ones */
  get writes(): number {
    return this.#env.crashes.writes;
  }

  /** crashes so far */
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
