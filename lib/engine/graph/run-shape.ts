/** What the graph of a run and its first commit say about its course. */
import { firstCommit } from '../ids.ts';
import type { RunEvent } from '../log/events.ts';
import { applyEvent, emptyState, openNodes } from '../log/fold.ts';
import { callerOf } from '../log/lineage.ts';
import { type RunEvents, includesStatus } from '../run-events.ts';
import { instant } from '../time.ts';
import type { Plan } from './plan.ts';

/** Whether the only effect of the first commit is that its committer runs one node without side effects. */
export function beginsWithScript({ nodes }: Plan, events: readonly RunEvent[]): boolean {
  const state = emptyState();
  for (const event of events) applyEvent(state, event, { commit: firstCommit, at: instant(0) });
  const [only, ...others] = openNodes(state);
  if (only === undefined || only.status === 'waiting' || only.via !== 'inline' || others.length > 0) return false;
  if (only.status === 'queued' && only.notBefore !== undefined) return false;
  const planned = nodes.get(only.nodeId);
  // The start of another node is on record before it runs.
  return planned?.policy.isIdempotent === true && !planned.recordsStart;
}

/** A pack of more nodes is probably too large for the head. */
const maxNodesOfOnePack = 25;
/** Decided in the commit before them, and they wait for nothing. */
const typesWithoutWait: ReadonlySet<string> = new Set(['start', 'end', 'condition']);

/**
 * Whether the results of all nodes can probably be one commit, whose write also records the end of the run: few scripts in a row. It is no
 * promise: a script may fail or take long.
 * @param events of the first commit
 * @param published what the bus gets
 */
export const endsInOneWrite = ({ nodes, options, roots }: Plan, events: readonly RunEvent[], published: RunEvents): boolean =>
  nodes.size <= maxNodesOfOnePack &&
  roots.length === 1 &&
  options.maxConcurrentRuns === undefined &&
  [...nodes.values()].every(
    ({ isLoop, isPure, type, policy, recordsStart, outbound }) =>
      !isLoop &&
      (type === 'condition' || outbound.length <= 1) &&
      (isPure ? typesWithoutWait.has(type) : policy.isIdempotent === true && !recordsStart),
  ) &&
  callerOf({ commit: { events } }) === undefined &&
  // An end that the bus gets is recorded after it was published, in a write of its own.
  !includesStatus(published, 'completed');
