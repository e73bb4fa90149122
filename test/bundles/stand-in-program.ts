/**
 * A simple program thread without replay: `step(name, body)` requests a step, runs it after the commit, and commits its result. The
 * messages between thread and process are the real ones.
 */
import type { CommandBatch } from '../../lib/engine/durable/command-batch.ts';
import { firstAttempt } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Failure } from '../../lib/engine/log/events.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { type StartWorkflowTask, serveWorkflowTasks } from '../../lib/bundles/serve-workflow-tasks.ts';
import type { WorkflowTaskEnd } from '../../lib/ports/programs.ts';

type Body = (signal: AbortSignal) => Promise<JsonValue>;
interface Given {
  readonly input: JsonValue;
  readonly runId: string;
  readonly step: (name: string, body: Body) => Promise<JsonValue>;
  readonly send: (signal: string) => Promise<unknown>;
  readonly overtaken: Promise<number>;
  /** resolves when an early hand-off is requested */
  readonly handsOn: Promise<void>;
}
interface Workflow {
  readonly spec: { readonly name: string };
  readonly fn: (given: Given) => Promise<JsonValue>;
}
const isWorkflows = (value: unknown): value is readonly Workflow[] => Array.isArray(value);

const startWorkflowTask: StartWorkflowTask = (workflows, task, host) => {
  const stop = new AbortController();
  const ended = Promise.withResolvers<WorkflowTaskEnd>();
  const overtaken = Promise.withResolvers<number>();
  const handsOn = Promise.withResolvers<void>();
  let turns: Promise<unknown> = Promise.resolve();
  const turn = (entries: CommandBatch['entries'], next: CommandBatch['next'] = 'running'): Promise<void> => {
    const mine = turns.then(() => host.commitBatch({ entries, next }));
    turns = mine;
    return mine.then((answer) => {
      if (answer.kind === 'stop' || (answer.kind === 'committed' && answer.run === 'ended')) ended.resolve({ kind: 'finished' });
    });
  };
  const workflow = isWorkflows(workflows) ? workflows.find(({ spec }) => spec.name === task.run.workflowName) : undefined;
  if (workflow === undefined) ended.resolve({ kind: 'unknown_workflow', message: `there is no ${task.run.workflowName}` });
  const step = async (key: string, body: Body): Promise<JsonValue> => {
    await turn([{ kind: 'scheduled', command: { kind: 'function', key } }]);
    const startedAt = instant(Date.now());
    const output = (await body(stop.signal)) ?? null;
    const of = { key, attempt: firstAttempt, startedAt, endedAt: instant(Date.now()) };
    await turn([{ kind: 'completed', ...of, output }]);
    return output;
  };
  const send = (signal: string) =>
    host.perform({ kind: 'signal-send', key: signal, signal, correlation: task.run.runId, data: null });
  const failed = (error: unknown): Failure => ({ cause: 'error', message: String(error) });
  void workflow
    ?.fn({ input: task.input, runId: task.run.runId, step, send, overtaken: overtaken.promise, handsOn: handsOn.promise })
    .then((output) => turn([{ kind: 'returned', output: output ?? null }], 'suspended'))
    .catch((error: unknown) => turn([{ kind: 'threw', failure: failed(error) }], 'suspended'));
  return {
    ended: ended.promise,
    replaceHistory: (history) => overtaken.resolve(history.stepAttempts),
    cancel: (reason) => stop.abort(reason),
    handOff: () => handsOn.resolve(),
    kill: (message) => Promise.resolve(ended.resolve({ kind: 'timed_out', message, running: [] })),
  };
};

void serveWorkflowTasks({ startWorkflowTask, capturePrinted: () => undefined });
