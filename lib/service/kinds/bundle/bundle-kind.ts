/** Bundle runs: an HTTP bundle of a deployment, which receives messages. Only its code knows what the run waits for. */
import { topLevel } from '../../../engine/ids.ts';
import type { RunState } from '../../../engine/log/fold.ts';
import { creationOf } from '../../../engine/log/head.ts';
import { nodeJob } from '../../commit/job-messages.ts';
import type { RunKind } from '../../run-kind.ts';
import { type NamedNode, latestOf } from '../../runs/get-run.ts';
import { resolveDeployedRerun } from '../deployed-run.ts';
import { createBundleRun } from './create-bundle-run.ts';
import { commonDecision } from './decide-bundle-run.ts';
import { resumeBundleRun, wakeBundleRun } from './new-workflow-message.ts';

export const bundleKind: RunKind<'bundle'> = {
  create: createBundleRun,
  decide: async (decider, fold) => commonDecision(decider, fold),
  signals: 'direct',
  jobOf: (head, ...attempt) => ({ ...nodeJob(head, ...attempt), kind: 'message', creation: creationOf(head) }),
  countEndedNodes: () => 0,
  hasSlots: false,
  resume: resumeBundleRun,
  wake: wakeBundleRun,
  maxWakesPerCommit: Infinity,
  resolveRerun: resolveDeployedRerun,
  present: async (_decider, { state }) => latestOf(state, messagesOf(state)),
  versionsOf: () => ({ workflowVersion: null }),
  countsUsage: false,
};

/** A bundle run has no definition: its messages are shown in the order of sending. */
const messagesOf = (state: RunState): readonly NamedNode[] =>
  [...state.nodes.entries()].map(([, { nodeId }]) => ({ node: { id: nodeId, type: 'message' }, iteration: topLevel }));
