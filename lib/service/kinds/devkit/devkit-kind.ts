/** Runs of the Workflow DevKit. Its code decides what happens; the platform stores the log and delivers the messages. */
import { topLevel } from '../../../engine/ids.ts';
import type { RunState } from '../../../engine/log/fold.ts';
import { nodeId } from '../../../engine/ids.ts';
import type { FoldOf, RunKind } from '../../run-kind.ts';
import { type NamedNode, latestOf } from '../../runs/get-run.ts';
import type { Decider } from '../../decider.ts';
import type { AppendResult } from '../../run-log/append.ts';
import { createDevKitRun } from './create-devkit-run.ts';
import { devKitDecision } from './decide-devkit-run.ts';
import { flowJobOf } from './jobs.ts';
import { recoverDevKitRun } from './recover-devkit-run.ts';
import { resolveDevKitRerun } from './rerun-devkit-run.ts';

export const devKitKind: RunKind<'devkit'> = {
  create: createDevKitRun,
  decide: async (decider, fold) => devKitDecision(decider, fold),
  signals: 'direct',
  jobOf: () => {
    throw new TypeError('no commit of a DevKit run dispatches a node');
  },
  recover: recoverDevKitRun,
  countEndedNodes: () => 0,
  hasSlots: false,
  resume: async (decider, fold, { idSeed }) => {
    await sendFlow(decider, fold, `resume#${idSeed ?? decider.deps.ids.nonce()}`);
    return nothing;
  },
  wake: async (decider, fold, { retries }) => {
    // The application decides about its retries.
    if (retries === true) return { kind: 'woken', nodeIds: [] };
    await sendFlow(decider, fold, `wake#${decider.deps.ids.nonce()}`);
    return { kind: 'woken', nodeIds: [] };
  },
  maxWakesPerCommit: Infinity,
  resolveRerun: resolveDevKitRerun,
  present: async (_decider, { state }) => latestOf(state, nodesOf(state)),
  versionsOf: () => ({ workflowVersion: null }),
  countsUsage: false,
};

const nothing: AppendResult = { kind: 'nothing' };

const sendFlow = ({ deps }: Decider, { head }: FoldOf<'devkit'>, reason: string): Promise<void> =>
  deps.jobs.send([flowJobOf(deps, head, reason)]);

/** In the order in which the code created them. */
function nodesOf({ nodes, devkit }: RunState): readonly NamedNode[] {
  return [...nodes.entries()].map(([, node]) => {
    const step = devkit?.steps.get(node.nodeId);
    if (step !== undefined) return { node: { id: nodeId(step.stepId), type: 'step', label: step.stepName }, iteration: topLevel };
    const type = devkit?.waits.has(node.nodeId) === true ? 'sleep' : 'hook';
    return { node: { id: node.nodeId, type }, iteration: topLevel };
  });
}
