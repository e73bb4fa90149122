/** Starts of attempts that no commit records: in a wide fan-out, the heartbeat has the start (docs/decisions/derived-events.md). */
import type { NodeKey, RunAddress } from '../../engine/ids.ts';
import { type RunState, openNodes } from '../../engine/log/fold.ts';
import type { Heartbeat } from '../../engine/log/heartbeat-timeout.ts';
import type { OpenNode } from '../../engine/log/node-state.ts';
import { mayHaveRecordedStart } from '../../engine/log/open-nodes.ts';
import type { Deps } from '../deps.ts';

/**
 * The heartbeats of the run, if one of its nodes may have started without a commit. Most runs have no such node and cost no read.
 * @param isOfInterest whether the caller needs the start of the node
 */
export async function readRecordedStarts(
  { log, clock }: Pick<Deps, 'log' | 'clock'>,
  run: RunAddress,
  state: RunState,
  isOfInterest: (node: OpenNode) => boolean = () => true,
): Promise<ReadonlyMap<NodeKey, Heartbeat>> {
  const now = clock.now();
  if (!openNodes(state).some((node) => mayHaveRecordedStart(node, now) && isOfInterest(node))) return new Map();
  return new Map((await log.heartbeats(run)).map((heartbeat) => [heartbeat.node, heartbeat]));
}
