/** Runs one workflow task: replays the history, executes new commands, and replays again when another writer has committed. */
import type { History } from '../engine/durable/command-batch.ts';
import type { JsonValue } from '../engine/json.ts';
import { reportedFailure } from '../engine/log/event-limits.ts';
import { seconds } from '../engine/time.ts';
import type { WorkflowTaskEnd } from '../ports/programs.ts';
import { type ExecutionContext, type ExitReason, taskFinished, commitBatch } from './execution-context.ts';
import { LiveExecution } from './live-execution.ts';
import { WorkflowInvocation } from './workflow-invocation.ts';
import { Replay } from './replay.ts';
import { type SchemaResult, validateWith } from './schema-check.ts';
import { StepsInProgress } from './steps-in-progress.ts';
import { deepCopy } from './stored-value.ts';
import { Rollback } from './rollback.ts';

/** how long running step functions get to stop after their signal is aborted */
export const graceMs = seconds(5);

export async function executeWorkflowTask(context: ExecutionContext): Promise<WorkflowTaskEnd> {
  const { stepFunctions, interrupts, task } = context;
  let exitReason: ExitReason = { kind: 'restart', history: task.history };
  for (;;) {
    if (exitReason.kind === 'restart') {
      // The history says that the run rolls back, so the cancellation has been handled.
      if (exitReason.history.runOutcome !== undefined) delete interrupts.cancelled;
      exitReason = await replayAndContinue(context, exitReason.history);
    } else if (exitReason.kind === 'aborted' && interrupts.cancelled !== undefined && !interrupts.isKilled) {
      exitReason = await stopForCancellation(context, interrupts.cancelled);
    } else {
      stepFunctions.abortAll('the workflow task has ended');
      return exitReason.kind === 'end' ? exitReason.end : { kind: 'finished' };
    }
  }
}

async function replayAndContinue(context: ExecutionContext, history: History<JsonValue>): Promise<ExitReason> {
  const { task, workflow, clock, wakeUp, stepFunctions, print } = context;
  const input = deepCopy(task.input);
  const checked: SchemaResult =
    workflow.schema === undefined ? { kind: 'valid', value: input } : await validateWith(workflow.schema, input);
  if (checked.kind === 'invalid') return rejectInput(context, history, checked);
  const invocation = new WorkflowInvocation({
    run: task.run,
    workflow,
    input: checked.value,
    history,
    now: () => clock.now(),
    print,
    onProgress: () => wakeUp.notify(),
  });
  const steps = new StepsInProgress(history);
  const replay = new Replay(context, invocation);
  stepFunctions.retainOnly(history.open);
  const isRollingBack = history.runOutcome !== undefined;
  if (history.entries.length === 0 && !isRollingBack) invocation.goLive();
  invocation.start();
  await clock.waitUntilIdle();
  const end = (await replay.run(history.entries, !isRollingBack)) ?? replay.nondeterminism();
  if (end !== undefined) return { kind: 'end', end };
  if (!isRollingBack) invocation.goLive();
  const exitReason = isRollingBack ? rollBack : await new LiveExecution(context, { invocation, steps, replay, history }).run();
  return exitReason.kind === 'roll_back'
    ? new Rollback(context, { invocation, steps, rollbacks: replay.rollbacks }).run()
    : exitReason;
}

const rollBack = { kind: 'roll_back' } as const;

/** Without a history the run fails. With a history the schema accepted this input before, so the schema is nondeterministic. */
async function rejectInput(
  context: ExecutionContext,
  { entries, priorResults, runOutcome }: History<JsonValue>,
  { message: detail, issues }: Extract<SchemaResult, { kind: 'invalid' }>,
): Promise<ExitReason> {
  const message = `the input does not match the schema of the workflow: ${detail}`;
  if (entries.length > 0 || priorResults.length > 0 || runOutcome !== undefined)
    return { kind: 'end', end: { kind: 'nondeterministic', message, details: { deploymentId: context.deploymentId, issues } } };
  const failure = reportedFailure({ cause: 'invalid', code: 'input_invalid', message, details: { issues } });
  const result = await commitBatch(context, { entries: [{ kind: 'threw', failure }], next: 'running' });
  return result.kind === 'committed' ? taskFinished : result;
}

/** Commits an empty batch. The result says whether the run has ended or must roll back. */
async function stopForCancellation(context: ExecutionContext, reason: string): Promise<ExitReason> {
  const { stepFunctions, interrupts } = context;
  stepFunctions.abortAll(reason);
  await stepFunctions.waitUntilStopped(graceMs);
  delete interrupts.cancelled;
  const result = await commitBatch(context, { entries: [], next: 'suspended' });
  return result.kind === 'committed' ? taskFinished : result;
}
