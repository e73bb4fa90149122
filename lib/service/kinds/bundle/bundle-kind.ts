/** Bundle runs: an HTTP bundle of a deployment, which receives messages. Only its code knows what the run waits for. */
import { defined } from '../../../base/defined.ts';
import { decideBundleStart } from '../../../engine/bundle/decide.ts';
import { workflowQueue } from '../../../engine/bundle/message.ts';
import { topLevel } from '../../../engine/ids.ts';
import { inline } from '../../../engine/json.ts';
import type { RunState } from '../../../engine/log/fold.ts';
import { creationOf } from '../../../engine/log/head.ts';
import { notifyRun } from '../../commit/commit-facts.ts';
import { commitWithRecheck, endStatusOf } from '../../commit/commit-with-recheck.ts';
import { nodeJob } from '../../commit/job-messages.ts';
import type { NotPrepared, PrepareTerms, PreparedRun, ResolvedCode } from '../../new-run.ts';
import type { Decider, FoldOf, RunKind } from '../../run-kind.ts';
import type { AppendResult } from '../../run-log/append.ts';
import { offloadInput } from '../../run-log/payloads.ts';
import { type NamedNode, latestOf } from '../../runs/get-run.ts';
import type { ResumeTerms } from '../../runs/resume-run.ts';
import type { WakeResult } from '../../runs/wake-run.ts';
import { pinDeployment } from '../pin-deployment.ts';
import { resolveDeployedRerun } from '../rerun-deployed-run.ts';
import { commonDecision, decideBundleRun, newMessage } from './decide-bundle-run.ts';
import { deliverMessage } from './deliver-message.ts';
import { hasMessage, newWorkflowMessage } from './new-workflow-message.ts';

export const bundleKind: RunKind<'bundle'> = {
  create: createBundleRun,
  decide: async (decider, fold) => commonDecision(decider, fold),
  signals: 'direct',
  jobOf: (head, ...attempt) => ({ ...nodeJob(head, ...attempt), kind: 'message', creation: creationOf(head) }),
  execute: deliverMessage,
  endWait: async (worker, fold, fact) => {
    await notifyRun(worker, fold, [fact]);
    return async () => {};
  },
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

async function createBundleRun(
  decider: Decider,
  resolved: ResolvedCode,
  terms: PrepareTerms,
): Promise<PreparedRun | NotPrepared> {
  const { deps } = decider;
  const { deploymentId, workflowName, input, system = {} } = resolved;
  const { address, now, deadlineAt, expiresAt, startsAt } = terms;
  const refused = await pinDeployment(decider, resolved, terms);
  if (refused !== undefined) return refused;
  const payload = await offloadInput(deps, { address, expiresAt, kind: 'bundle' }, input);
  const body = { runId: address.runId, input };
  // The message id follows from the run id, so that every repeated request writes the same commit.
  const first = newMessage(deps, 'workflow', { queueName: workflowQueue(workflowName), body }, address.runId);
  const tools = { now, deadlineAt, random: () => deps.ids.random() };
  return {
    created: { kind: 'bundle', workflow: { name: workflowName }, deploymentId },
    events: decideBundleStart(payload, system, first, tools, startsAt),
  };
}

async function resumeBundleRun(
  decider: Decider,
  fold: FoldOf<'bundle'>,
  { reason, payload, token, idSeed }: ResumeTerms,
): Promise<AppendResult> {
  const message = await newWorkflowMessage(decider.deps, fold.head, defined({ reason, payload }), idSeed);
  const resumed = defined({ reason, payload: payload === undefined ? undefined : inline(payload), token });
  return decideBundleRun(decider, fold, [{ kind: 'resumed', newMessage: message, ...resumed }]);
}

/** The workflow receives a message and checks what it waits for. */
async function wakeBundleRun(decider: Decider, fold: FoldOf<'bundle'>): Promise<WakeResult> {
  const message = await newWorkflowMessage(decider.deps, fold.head);
  await commitWithRecheck(decider, fold, () => decideBundleRun(decider, fold, [{ kind: 'message-sent', newMessage: message }]));
  const statusAfter = endStatusOf(fold);
  return statusAfter === undefined || hasMessage(fold, message)
    ? { kind: 'woken', nodeIds: [message.id] }
    : { kind: 'run_terminal', status: statusAfter };
}

/** A bundle run has no definition: its messages are shown in the order of sending. */
const messagesOf = (state: RunState): readonly NamedNode[] =>
  [...state.nodes.entries()].map(([, { nodeId }]) => ({ node: { id: nodeId, type: 'message' }, iteration: topLevel }));
