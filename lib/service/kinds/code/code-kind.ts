/** Code runs: a workflow function of a deployment, replayed in workflow tasks. */
import { defined } from '../../../base/defined.ts';
import { type NodeRef, firstAttempt, topLevel } from '../../../engine/ids.ts';
import type { RunState } from '../../../engine/log/fold.ts';
import { creationOf } from '../../../engine/log/head.ts';
import { type NodeState, isOpen } from '../../../engine/log/node-state.ts';
import { nodeJob } from '../../commit/job-messages.ts';
import type { RunKind } from '../../run-kind.ts';
import { type NamedNode, latestOf } from '../../runs/get-run.ts';
import { resumeSleepers } from '../../runs/resume-run.ts';
import { wakeNodes } from '../../runs/wake-run.ts';
import { createCodeRun } from './create-code-run.ts';
import { codeDecision } from './decide-code-run.ts';
import { resolveCodeRerun } from './rerun-code-run.ts';

/** A code run may have thousands of concurrent sleeps. */
export const maxWakesPerCommit = 1_000;

export const codeKind: RunKind<'code'> = {
  create: createCodeRun,
  decide: async (decider, fold) => codeDecision(decider, fold),
  signals: 'by_message',
  jobOf: (head, ...attempt) => ({ ...nodeJob(head, ...attempt), kind: 'workflow_task', creation: creationOf(head) }),
  countEndedNodes: (state) => state.nodes.size - state.open.size,
  hasSlots: false,
  resume: resumeSleepers,
  wake: wakeNodes,
  maxWakesPerCommit,
  resolveRerun: resolveCodeRerun,
  present: async (_decider, { state }) => defined({ ...latestOf(state, stepsOf(state)), rootCause: failedStepOf(state) }),
  versionsOf: ({ workflow }) => ({ workflowVersion: null, version: workflow.version ?? null }),
  countsUsage: true,
};

/** The steps, by their keys. A workflow task is not a step, but a deferred one is shown because the run waits for it. */
const stepsOf = (state: RunState): readonly NamedNode[] =>
  [...state.nodes.entries()].flatMap(([, node]) => {
    const step = 'step' in node ? node.step : undefined;
    if (step === undefined || (step.kind === 'workflow_task' && !isDeferred(node))) return [];
    return [{ node: { id: node.nodeId, type: step.kind, label: step.key }, iteration: topLevel }];
  });

/** The failed step whose error the code did not catch. */
function failedStepOf({ progress, nodes }: RunState): NodeRef | undefined {
  const key = progress.status === 'failed' ? progress.error.details?.['step'] : undefined;
  if (key === undefined) return undefined;
  for (const [, node] of nodes.entries())
    if ('failure' in node && node.step?.key === key) return { nodeId: node.nodeId, iteration: topLevel };
  return undefined;
}

const isDeferred = (node: NodeState): boolean => isOpen(node) && node.attempt > firstAttempt;
