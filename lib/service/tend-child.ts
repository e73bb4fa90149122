/**
 * Looks at a run that a node called, and does what is left to be done: makes it, tells the caller how it ended, or cancels it
 * where nobody waits for it any more. Asked by whoever knows of either side, as often as they like: only what the two logs say
 * counts, so a message that is late, lost or doubled changes nothing. (docs/decisions/subflows.md)
 */
import { mostDirectSiblings } from '../engine/graph/advance.ts';
import type { ChildEnd } from '../engine/graph/facts.ts';
import { type RunAddress, nodeKey } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import { openNodes } from '../engine/log/fold.ts';
import type { Head } from '../engine/log/head.ts';
import { callerOf } from '../engine/log/lineage.ts';
import type { ChildWait } from '../engine/log/node-state.ts';
import type { ChildJob, ChildResult } from '../ports/jobs.ts';
import { recordingThrows } from './admit-attempt.ts';
import { askRun } from './ask-run.ts';
import { cancelRun } from './cancel-run.ts';
import { childEnd } from './child-end.ts';
import type { Decider } from './decide-run.ts';
import { childResult } from './jobs-of.ts';
import { makeChild } from './make-child.ts';
import { type RunFold, readRun } from './read-log.ts';
import { type WaitFact, tellWaiting } from './tell-run.ts';

export async function tendChild(decider: Decider, job: ChildJob): Promise<void> {
  const child: RunAddress = { ...job.run, runId: job.childRunId };
  // Mostly both are wanted, and the caller waits for this.
  const [caller, fold] = await Promise.all([readRun(decider.deps, job.run), readRun(decider.deps, child)]);
  const wait = caller === undefined ? undefined : waitIn(caller, job);
  // What a message says, or the log of code, is believed only where the head of the called run says so too: it names its caller.
  if (fold !== undefined && !isCallOf(fold.head, job)) return;
  if (caller === undefined || wait === undefined) return leave(decider, child);
  const end = fold === undefined ? await makeChild(decider, caller, wait) : await childEnd(decider.deps, fold);
  if (end === undefined) return;
  // What could not be made has no log that would say so to a collector.
  if (end.status === 'refused' || !isCrowded(caller)) return tell(decider, caller, wait, end);
  await decider.deps.jobs.sendResult(childResult(caller.head, wait.dispatchedIn, wait, wait.childRunId));
}

/** Tells the caller how the run has ended, if it has, however many others it waits for: whoever collects ends never came to this one. */
export async function tellEnd(decider: Decider, caller: RunFold, called: ChildJob | ChildResult): Promise<void> {
  const wait = waitIn(caller, called);
  if (wait === undefined) return;
  const fold = await readRun(decider.deps, { ...called.run, runId: called.childRunId });
  const end = fold === undefined || !isCallOf(fold.head, called) ? undefined : await childEnd(decider.deps, fold);
  if (end !== undefined) await tell(decider, caller, wait, end);
}

/** So many runs may end at once that most of those who tell it would lose their puts: the ends are collected. */
const isCrowded = ({ state }: RunFold): boolean =>
  openNodes(state).filter((node) => node.status === 'waiting' && node.for === 'child').length > mostDirectSiblings;

function waitIn({ state }: RunFold, job: ChildJob | ChildResult): ChildWait | undefined {
  const node = state.nodes.get(nodeKey(job));
  return node?.status === 'waiting' && node.for === 'child' && node.childRunId === job.childRunId ? node : undefined;
}

async function tell(decider: Decider, caller: RunFold, wait: ChildWait, end: ChildEnd): Promise<void> {
  const { nodeId, iteration, attempt, childRunId } = wait;
  const fact: WaitFact = { kind: 'child-ended', node: { nodeId, iteration }, attempt, childRunId, end };
  await recordingThrows(decider, caller, wait, () => askRun(decider, caller, () => tellWaiting(decider, caller, [fact])));
}

const isCallOf = (called: Head, { run, nodeId, iteration, attempt }: ChildJob | ChildResult): boolean => {
  const caller = callerOf(called);
  return caller?.runId === run.runId && caller.nodeId === nodeId && caller.iteration === iteration && caller.attempt === attempt;
};

/** Nobody waits for it: it is cancelled, unless its caller wished that it goes on. */
async function leave(decider: Decider, child: RunAddress): Promise<void> {
  const head = await decider.deps.log.head(child);
  if (head === undefined) return;
  const caller = callerOf(head);
  invariant(caller !== undefined, `${child.runId} is nobody's child`);
  if (caller.whenLeft === 'go_on') return;
  await cancelRun(decider, child, `node ${caller.nodeId} of run ${caller.runId} does not wait for it any more`);
}
