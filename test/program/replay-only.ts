/** Replays a history and returns the first batch beyond it. */
import { type History, type RunFacts, type CommandBatch, replayVersion } from '../../lib/engine/durable/command-batch.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { after, days } from '../../lib/engine/time.ts';
import type { WorkflowTaskEnd } from '../../lib/ports/programs.ts';
import { startWorkflowTask } from '../../lib/program/start-workflow-task.ts';
import { theRun } from '../engine/graph-run-fixture.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface Replayed {
  readonly turn: CommandBatch | undefined;
  /** what the code asked for beyond its history */
  readonly asked: readonly string[];
  readonly drains: number;
  readonly end: WorkflowTaskEnd;
  readonly waitedMs: number;
}

export async function replayOnly(
  workflows: unknown,
  history: History<JsonValue>,
  given: { readonly name?: string; readonly input?: JsonValue; readonly version?: string | null; readonly run?: RunFacts } = {},
): Promise<Replayed> {
  const clock = new VirtualClock();
  const createdAt = clock.now();
  const { name: workflowName = 'test', version = null, input = null } = given;
  const run = given.run ?? { runId: theRun, workflowName, version, createdAt, deadlineAt: after(createdAt, days(365)) };
  // A drive begins when what it waited for is due.
  for (const { retryAt } of history.open) if (retryAt !== undefined) clock.skipTo(retryAt);
  const begunAt = clock.now();
  let turn: CommandBatch | undefined;
  const drive = startWorkflowTask(
    workflows,
    { run, replayVersion, input, history, handOffAt: run.deadlineAt },
    {
      commitBatch: async (said) => {
        turn ??= said;
        return { kind: 'stop' };
      },
      perform: () => new Promise(() => {}),
    },
    { deploymentId: 'dep-2', clock, print: () => {} },
  );
  const end = await clock.until(drive.ended);
  const asked = (turn?.entries ?? []).flatMap((entry) => (entry.kind === 'scheduled' ? [entry.command.key] : []));
  return { turn, asked, drains: clock.drains, end, waitedMs: clock.now() - begunAt };
}
