/**
 * Looks at a run that a node called, and does what is left to be done: makes it, tells the caller how it ended, or cancels it
 * where nobody waits for it any more. Asked by whoever knows of either side, as often as they like: only what the two logs say
 * counts, so a message that is late, lost or doubled changes nothing. (docs/decisions/subflows.md)
 */
import type { ChildEnd } from '../engine/graph/facts.ts';
import { type RunAddress, nodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import { isTerminal } from '../engine/log/fold.ts';
import { callerOf } from '../engine/log/lineage.ts';
import type { ChildWait } from '../engine/log/node-state.ts';
import type { ChildJob } from '../ports/jobs.ts';
import { askRun } from './ask-run.ts';
import { cancelRun } from './cancel-run.ts';
import type { Decider } from './decide-run.ts';
import { makeChild } from './make-child.ts';
import { load } from './payloads.ts';
import { type RunFold, readRun } from './read-log.ts';
import { type WaitFact, tellWaiting } from './tell-run.ts';

export async function tendChild(decider: Decider, job: ChildJob): Promise<void> {
  const child: RunAddress = { ...job.run, runId: job.childRunId };
  // Mostly both are wanted, and the caller waits for this.
  const [caller, fold] = await Promise.all([readRun(decider.deps, job.run), readRun(decider.deps, child)]);
  const wait = caller === undefined ? undefined : waitIn(caller, job);
  if (caller === undefined || wait === undefined) return leave(decider, child);
  const end = fold === undefined ? await makeChild(decider, caller, wait) : await endOf(decider, fold);
  if (end !== undefined) await tell(decider, caller, wait, end);
}

function waitIn({ state }: RunFold, job: ChildJob): ChildWait | undefined {
  const node = state.nodes.get(nodeKey(job));
  return node?.status === 'waiting' && node.for === 'child' && node.childRunId === job.childRunId ? node : undefined;
}

async function endOf({ deps }: Decider, { head, state: { progress } }: RunFold): Promise<ChildEnd | undefined> {
  if (!isTerminal(progress)) return undefined;
  switch (progress.status) {
    case 'completed': {
      const { output } = progress;
      // A copy for the caller: what is stored apart belongs to the child, and expires with it.
      return { status: 'completed', output: 'value' in output ? output.value : await load(deps, head.address, output.ref) };
    }
    case 'failed':
      return { status: 'failed', error: progress.error };
    case 'cancelled':
      return { status: 'cancelled', ...(progress.reason === undefined ? {} : { reason: progress.reason }) };
  }
}

async function tell(decider: Decider, caller: RunFold, wait: ChildWait, end: ChildEnd): Promise<void> {
  const { nodeId, iteration, attempt, childRunId } = wait;
  const fact: WaitFact = { kind: 'child-ended', node: { nodeId, iteration }, attempt, childRunId, end };
  await askRun(decider, caller, () => tellWaiting(decider, caller, [fact]));
}

/** Nobody waits for it: it is cancelled, unless its caller wished that it goes on. */
async function leave(decider: Decider, child: RunAddress): Promise<void> {
  const head = await decider.deps.log.head(child);
  if (head === undefined) return;
  const caller = callerOf(head);
  invariant(caller !== undefined, `${child.runId} is nobody's child`);
  if (caller.whenLeft === 'go_on') return;
  await cancelRun(decider, child, `node ${caller.nodeId} of run ${caller.runId} does not wait for it any more`);
}
