/** Replays a history and looks at the first turn that the code comes to beyond it. */
import { replayVersion } from '../../lib/engine/durable/replay-version.ts';
import type { History, RunFacts, Turn } from '../../lib/engine/durable/turn.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { after, days } from '../../lib/engine/time.ts';
import type { DriveEnd } from '../../lib/ports/programs.ts';
import { beginDrive } from '../../lib/program/begin-drive.ts';
import { theRun } from '../engine/play.ts';
import { VirtualClock } from './virtual-clock.ts';

export interface Replayed {
  readonly turn: Turn | undefined;
  /** what the code asked for beyond its history */
  readonly asked: readonly string[];
  readonly drains: number;
  readonly end: DriveEnd;
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
  let turn: Turn | undefined;
  const drive = beginDrive(
    workflows,
    { run, replayVersion, input, history, handsOnAt: run.deadlineAt },
    {
      turn: async (said) => {
        turn ??= said;
        return { kind: 'stop' };
      },
      perform: () => new Promise(() => {}),
    },
    { deploymentId: 'dep-2', clock, print: () => {} },
  );
  const end = await clock.until(drive.ended);
  const asked = (turn?.entries ?? []).flatMap((entry) => (entry.kind === 'asked' ? [entry.command.key] : []));
  return { turn, asked, drains: clock.drains, end, waitedMs: clock.now() - begunAt };
}
