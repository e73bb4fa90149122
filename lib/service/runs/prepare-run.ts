/** Prepares the first events of a run: decides a graph run's roots, or pins a deployment and decides its first workflow task or message. */
import type { UnsavedGraph } from '../../codec/definition.ts';
import { decideBundleStart } from '../../engine/bundle/decide.ts';
import { workflowQueue } from '../../engine/bundle/message.ts';
import { defined } from '../../base/defined.ts';
import { decideCodeStart } from '../../engine/durable/decide.ts';
import { replayVersion, replayVersionKey } from '../../engine/durable/replay-version.ts';
import { decideStart } from '../../engine/graph/decide.ts';
import type { WorkflowVersion } from '../../engine/graph/definition.ts';
import type { Plan } from '../../engine/graph/plan.ts';
import { type ReusedNode, decideRerunFrom } from '../../engine/graph/rerun-from.ts';
import type { DeploymentId, NodeId, RunAddress } from '../../engine/ids.ts';
import type { JsonValue, Payload } from '../../engine/json.ts';
import type { RunEvent } from '../../engine/log/events.ts';
import type { BundleCreation, CodeCreation, GraphCreation } from '../../engine/log/head.ts';
import type { Instant } from '../../engine/time.ts';
import { newMessage } from '../kinds/bundle/decide-bundle-run.ts';
import { codeTools } from '../kinds/code/decide-code-run.ts';
import type { Decider } from '../kinds/graph/decide-run.ts';
import { decideTools } from '../commit/plans.ts';
import type { ServedWorkflow } from '../deployments/find-ready-deployment.ts';
import { offloadInput, withPayloads } from '../run-log/payloads.ts';
import { saveTestGraph } from '../run-log/test-graph.ts';

/** What to run, with an input that the version accepted. */
export type Resolved = ResolvedGraph | ResolvedCode;

interface Found {
  readonly kind: 'found';
  readonly input: JsonValue;
  /** system values for the run's first commit */
  readonly system?: Readonly<Record<string, JsonValue>>;
}

interface ResolvedGraph extends Found {
  readonly version: WorkflowVersion;
  /** the run starts from this node and reuses these results of an earlier run */
  readonly startFrom?: { readonly from: NodeId; readonly reused: readonly ReusedNode[] };
  /** a test run: it carries this graph, has version 0 and expires early */
  readonly unsaved?: UnsavedGraph;
  /** a test run called it, so it is a test run too */
  readonly isTestChild?: true;
}

interface ResolvedCode extends Found, ServedWorkflow {
  readonly deploymentId: DeploymentId;
}

export type NotPrepared =
  /** the deployment's removal has begun meanwhile */
  | { readonly kind: 'deployment_not_found'; readonly deploymentId: DeploymentId }
  /** the reused results do not lead to the node to start from */
  | { readonly kind: 'node_not_reached' };

interface PrepareTerms {
  readonly address: RunAddress;
  readonly now: Instant;
  readonly deadlineAt: Instant;
  readonly expiresAt: Instant;
  readonly startsAt: Instant | undefined;
}

/** The kind-specific part of a run, and its first events. */
interface PreparedRun {
  readonly created:
    | Pick<GraphCreation, 'kind' | 'workflow' | 'deploymentId' | 'isTest'>
    | Pick<BundleCreation, 'kind' | 'workflow' | 'deploymentId'>
    | Pick<CodeCreation, 'kind' | 'workflow' | 'deploymentId'>;
  readonly events: readonly RunEvent[];
  /** only for a graph run */
  readonly plan?: Plan;
}

/** Prepares the run. Repeated attempts of a start prepare the same run. */
export const prepareRun = (decider: Decider, resolved: Resolved, terms: PrepareTerms): Promise<PreparedRun | NotPrepared> =>
  'version' in resolved ? prepareGraphRun(decider, resolved, terms) : prepareCodeRun(decider, resolved, terms);

export const isTest = (resolved: Resolved): boolean =>
  'version' in resolved && (resolved.unsaved !== undefined || resolved.isTestChild === true);

async function prepareGraphRun(
  { deps, plans }: Decider,
  resolved: ResolvedGraph,
  { address, deadlineAt, expiresAt, startsAt }: PrepareTerms,
): Promise<PreparedRun | NotPrepared> {
  const { version, input, system = {}, startFrom, unsaved } = resolved;
  const payload: Payload = await offloadInput(deps, { address, expiresAt, kind: 'graph' }, input);
  const workflow = { name: version.name, version: version.version };
  if (unsaved !== undefined) await saveTestGraph(deps, address, unsaved, expiresAt);
  const plan =
    unsaved === undefined ? plans.add(address, version) : plans.addTestGraph({ ...workflow, carriedBy: address }, unsaved);
  const events = await withPayloads(deps, address, (loaded) => {
    const tools = decideTools(deps, plans, plan, { address, deadlineAt }, loaded);
    return startFrom === undefined
      ? decideStart(payload, system, tools, startsAt)
      : decideRerunFrom(payload, system, startFrom, tools);
  });
  if (events === undefined) return { kind: 'node_not_reached' };
  return {
    created: defined({ kind: 'graph', workflow, deploymentId: null, isTest: isTest(resolved) ? true : undefined }),
    events,
    plan,
  };
}

async function prepareCodeRun(
  { deps }: Decider,
  { runtime, deploymentId, workflowName, codeVersion, input, system = {} }: ResolvedCode,
  { address, now, deadlineAt, expiresAt, startsAt }: PrepareTerms,
): Promise<PreparedRun | NotPrepared> {
  // Pins first, then reads the deployment again. A removal marks first, then reads the pins. So one of them sees the other.
  await deps.deployments.pin(address, deploymentId, address.runId, { since: now, expiresAt });
  const deployment = await deps.deployments.deployment(address, deploymentId);
  if (deployment === undefined || deployment.removingSince !== undefined) {
    await deps.deployments.unpin(address, deploymentId, address.runId);
    return { kind: 'deployment_not_found', deploymentId };
  }
  const payload: Payload = await offloadInput(deps, { address, expiresAt, kind: runtime }, input);
  if (runtime === 'code') {
    const workflow = defined({ name: workflowName, version: codeVersion });
    const systemValues = { ...system, [replayVersionKey]: replayVersion };
    const tools = codeTools(now, { address, deadlineAt });
    return { created: { kind: 'code', workflow, deploymentId }, events: decideCodeStart(payload, systemValues, tools, startsAt) };
  }
  const body = { runId: address.runId, input };
  // The message id follows from the run id, so that every repeated request writes the same commit.
  const first = newMessage(deps, 'workflow', { queueName: workflowQueue(workflowName), body }, address.runId);
  const tools = { now, deadlineAt, random: () => deps.ids.random() };
  return {
    created: { kind: 'bundle', workflow: { name: workflowName }, deploymentId },
    events: decideBundleStart(payload, system, first, tools, startsAt),
  };
}
