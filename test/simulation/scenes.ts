/** Scenes: a workflow in which something comes together that hardly a seed draws, and what must hold of it wherever a process dies. */
import { durationMs, minutes, seconds } from '../../lib/engine/time.ts';
import { lasting } from '../conformance/topology.ts';
import { type CrashRunOptions, type FixedWorkflow, crashRun } from './crash-run.ts';
import { fixedTopology } from './fixed-topologies.ts';
import { runInvariant } from './violation.ts';

/** From a worker's death until its node has begun again: a patience of 100 s, the next look, the sweep (ten invariants, 5). */
const longestStillMs = minutes(3);

const quick = seconds(3);
/** The attempt that dies, and the one that does it again, work for as long besides. */
const longestMs = durationMs(longestStillMs + 2 * quick);

const besideOneAtWork: FixedWorkflow = fixedTopology({
  name: 'beside-one-at-work',
  says: 'A branch whose worker dies is begun again while the other is still at work.',
  edges: ['start -> slow -> join', 'start -> quick -> join'],
  nodes: { slow: { timeoutSeconds: 840 } },
  replies: { slow: lasting(minutes(12)), quick: lasting(quick) },
  holds: () => {},
});

/** How long each crash kept the quick branch from its end, at most. */
async function judgeBranches(options: CrashRunOptions = {}): Promise<number> {
  let dispatchedAt: number | undefined;
  let longest = 0;
  await crashRun(besideOneAtWork, {
    ...options,
    onCommit: ({ events }, now) => {
      for (const event of events) {
        if (!('nodeId' in event) || event.nodeId !== 'quick') continue;
        if (event.type === 'NODE_DISPATCHED') dispatchedAt = now;
        if (event.type === 'NODE_COMPLETED' && dispatchedAt !== undefined) longest = now - dispatchedAt;
      }
    },
  });
  return longest;
}

/** @throws a violation where a crash keeps a branch waiting for the other one */
async function aDeadBranchBesideOneAtWork(): Promise<void> {
  const { calls } = await crashRun(besideOneAtWork);
  for (let call = 1; call <= calls.length; call += 1) {
    const tookMs = await judgeBranches({ aims: [{ call, kind: 'crashAfter' }] });
    runInvariant(5, tookMs <= longestMs, `a branch took ${tookMs} ms beside one at work: its worker died after call ${call}`);
  }
}

export const scenes = { 'a dead branch beside one at work': aDeadBranchBesideOneAtWork } as const;

export type Scene = keyof typeof scenes;
