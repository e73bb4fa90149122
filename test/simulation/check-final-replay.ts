/**
 * At the end, replays every code run on its log, like a workflow task that starts then. The code must issue the same commands
 * in the same order. Without this check, a command batch committed at the wrong position shows only after a crash.
 */
import { replayVersion } from '../../lib/engine/durable/command-batch.ts';
import type { RunAddress } from '../../lib/engine/ids.ts';
import type { RunState } from '../../lib/engine/log/fold.ts';
import { type Instant, after, instant } from '../../lib/engine/time.ts';
import type { MemoryPorts } from '../../lib/memory/memory-ports.ts';
import { startWorkflowTask } from '../../lib/program/start-workflow-task.ts';
import type { ProgramClock } from '../../lib/program/clock.ts';
import { loadHistory } from '../../lib/service/kinds/code/load-history.ts';
import { type StepEffects, type CodeWorkflow, workflowOf } from './random-code.ts';
import { runInvariant } from './violation.ts';

const nowhere: StepEffects = { began: () => {}, undone: () => {}, sleep: async () => {} };

/** @returns whether it was replayed: a graph is not */
export async function checkFinalReplay(
  memory: MemoryPorts,
  run: RunAddress,
  state: RunState,
  workflow: CodeWorkflow,
  now: Instant,
): Promise<void> {
  const head = await memory.log.head(run);
  if (head?.kind !== 'code') return;
  const { deploymentId, createdAt, deadlineAt } = head;
  const task = {
    run: { runId: run.runId, workflowName: workflow.name, version: null, createdAt, deadlineAt },
    replayVersion,
    input: null,
    history: await loadHistory(memory, { head, state }, new Map()),
    handOffAt: deadlineAt,
  };
  // Its results do not matter. The check compares how far the replay came.
  const host = {
    commitBatch: async () => ({ kind: 'stop' as const }),
    perform: () => Promise.reject(new Error('nothing is sent')),
  };
  const drive = startWorkflowTask([workflowOf(workflow, nowhere)], task, host, {
    deploymentId,
    clock: ownClock(now),
    print: () => {},
  });
  const end = await drive.ended;
  runInvariant(
    6,
    end.kind !== 'nondeterministic',
    `${run.runId} has another result in its replay: ${'message' in end ? end.message : ''}`,
  );
}

/** A clock that advances to the end of each wait. */
function ownClock(from: Instant): ProgramClock {
  let now: number = from;
  const waitUntilIdle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    now: () => instant(now),
    waitUntilIdle,
    sleep: async (wait, signal) => {
      await waitUntilIdle();
      if (signal?.aborted !== true) now = Math.max(now, after(instant(now), wait));
    },
  };
}
