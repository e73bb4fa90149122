/** The local runner of AWS Lambda durable functions: functions in this process, checkpoints in the memory of a thread. */
import { type DurableContext, type DurableLambdaHandler, withDurableExecution } from '@aws/durable-execution-sdk-js';
import { LocalDurableTestRunner, WaitingOperationStatus } from '@aws/durable-execution-sdk-js-testing';
import { type Engine, type Started, runPooled } from './engine.ts';
import { type Input, type ProgramName, type Result, type Steps, nowMs, programs, signalName } from './programs.ts';

const stepsOf = (context: DurableContext, run: string): Steps => ({
  run: (name, stepFunction) => context.step(name, async () => stepFunction()),
  child: () => context.invoke<Input, Result>('stamp', 'stamp', { run: `${run}-child`, steps: 1, every: 1 }),
  async signal() {
    const [sent] = await context.createCallback(signalName);
    await sent;
  },
});

const handlerOf = (program: ProgramName): DurableLambdaHandler =>
  withDurableExecution((input: Input, context: DurableContext) => programs[program](stepsOf(context, input.run), input));

function start(program: ProgramName, input: Input): Started {
  const runner = new LocalDurableTestRunner<Result>({ handlerFunction: handlerOf(program) });
  runner.registerDurableFunction('stamp', handlerOf('stamp'));
  // Registered before the run: the runner does not report past operations.
  const callback = runner.getOperation(signalName);
  const ended = runner.run({ payload: input });
  // Awaited later; an earlier failure must not be an unhandled rejection.
  ended.catch(() => undefined);
  return {
    async result() {
      const execution = await ended;
      const result = execution.getResult();
      if (result === undefined) throw new Error(`${program} ended as ${execution.getStatus()}`);
      return result;
    },
    async signal() {
      await callback.waitForData(WaitingOperationStatus.STARTED);
      await callback.sendCallbackSuccess('null');
    },
  };
}

export async function startDurableFunctions(): Promise<Engine> {
  await LocalDurableTestRunner.setupTestEnvironment({ skipTime: false });
  return {
    name: 'durable functions, local runner',
    persistence: 'the memory of a thread, nothing outlives the process; a message to that thread for each checkpoint',
    start: async (program, input) => start(program, input),
    async runAll(program, inputs, atOnce) {
      const beganAt = nowMs();
      return { beganAt, results: await runPooled(inputs, atOnce, (input) => start(program, input).result()) };
    },
    stop: () => LocalDurableTestRunner.teardownTestEnvironment(),
  };
}
