/**
 * Reruns a run: creates a new run of the same workflow, on the same or another version or deployment, with the same or another input,
 * from the beginning or from a chosen node. The source run is not changed; it may be open or ended.
 */
import { defined } from '../../base/defined.ts';
import { validateInput, type InputError } from '../../engine/graph/validate-input.ts';
import { type ReusedNode, reusableResults } from '../../engine/graph/rerun-from.ts';
import { type DeploymentId, type NodeId, type RunAddress, workflowName } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type CodeHead, type BundleHead, type GraphHead, isTestRun } from '../../engine/log/head.ts';
import { rerunSystemValues } from '../../engine/log/lineage.ts';
import { type BeginResult, type BeginRequest, beginRun } from './begin-run.ts';
import type { Resolved } from './prepare-run.ts';
import type { Decider } from '../kinds/graph/decide-run.ts';
import type { Deps } from '../deps.ts';
import { type ClosedReason, closedReason, hasVersion } from '../definitions/closed-reason.ts';
import { loadPayload } from '../run-log/payloads.ts';
import { readRunFold } from '../run-log/read-run-fold.ts';
import { type NotReady, findReadyDeployment } from '../deployments/find-ready-deployment.ts';
import { readRunInput } from '../run-log/read-run-input.ts';

/** `bodyHash` covers the source run, so that a key never refers to reruns of two runs. */
export interface RerunRequest extends Pick<BeginRequest, 'idempotencyKey' | 'bodyHash' | 'trace'> {
  readonly sourceRun: RunAddress;
  /** absent: the input of the source run */
  readonly input?: JsonValue;
  /** absent: the version of the source run */
  readonly version?: number;
  /** for a run of a deployment; absent: the deployment of the source run */
  readonly deploymentId?: DeploymentId;
  /** for a graph run: the rerun starts here and reuses the results before it */
  readonly from?: NodeId;
}

type RerunRefusal =
  | NotReady
  | { readonly kind: 'node_not_found'; readonly nodeId: NodeId }
  /** the field does not apply to runs of this kind */
  | { readonly kind: 'not_applicable'; readonly field: 'version' | 'deploymentId' | 'fromNode' }
  | { readonly kind: 'not_found' }
  /** a test run cannot be rerun, because its graph was never published */
  | { readonly kind: 'test_run' }
  | { readonly kind: 'version_not_found'; readonly workflowName: string }
  | { readonly kind: ClosedReason | 'workflow_not_found' }
  | { readonly kind: 'input_invalid'; readonly errors: readonly InputError[] };

export type RerunResult = BeginResult | RerunRefusal;

/** The endpoint of a rerun's idempotency key. */
const rerunEndpoint = 'POST /v1/runs/{runId}/rerun';

export const rerunRun = (decider: Decider, request: RerunRequest): Promise<RerunResult> =>
  beginRun(decider, { ...keyOf(request), scope: request.sourceRun, endpoint: rerunEndpoint }, () => resolve(decider, request));

const keyOf = ({ idempotencyKey, bodyHash, trace }: RerunRequest) =>
  defined({
    idempotencyKey,
    bodyHash,
    trace,
  });

async function resolve(decider: Decider, request: RerunRequest): Promise<Resolved | RerunRefusal> {
  const head = await decider.deps.log.head(request.sourceRun);
  if (head === undefined) return { kind: 'not_found' };
  return head.kind === 'graph' ? resolveGraph(decider, head, request) : resolveCode(decider.deps, head, request);
}

async function resolveGraph(
  { deps, plans }: Decider,
  head: GraphHead,
  { sourceRun, input, version: number, deploymentId, from }: RerunRequest,
): Promise<Resolved | RerunRefusal> {
  if (isTestRun(head)) return { kind: 'test_run' };
  if (deploymentId !== undefined) return { kind: 'not_applicable', field: 'deploymentId' };
  const name = workflowName(head.workflow.name);
  const summary = await deps.workflows.summary(sourceRun, name);
  // The workflow was deleted; its deletion has not reached this run yet.
  if (summary === undefined) return { kind: 'workflow_not_found' };
  const closed = closedReason(summary);
  if (closed !== undefined) return { kind: closed };
  const versionNumber = number ?? head.workflow.version;
  const version = hasVersion(summary, versionNumber) ? await deps.workflows.version(sourceRun, name, versionNumber) : undefined;
  if (version === undefined) return { kind: 'version_not_found', workflowName: name };
  const checkedInput = validateInput(version.options.args, input ?? (await readRunInput(deps, head)));
  if (checkedInput.kind === 'refused') return { kind: 'input_invalid', errors: checkedInput.errors };
  const found = { kind: 'found' as const, version, input: checkedInput.input };
  if (from === undefined) return { ...found, system: rerunSystemValues(sourceRun.runId) };
  if (!version.nodes.some(({ id }) => id === from)) return { kind: 'node_not_found', nodeId: from };
  const earlier = await readRunFold(deps, sourceRun);
  invariant(earlier !== undefined, `run ${sourceRun.runId} has a head and no log`);
  const reused = await Promise.all(
    reusableResults(plans.add(sourceRun, version), earlier.state, from).map((result) => withValue(deps, sourceRun, result)),
  );
  return { ...found, system: rerunSystemValues(sourceRun.runId, from), startFrom: { from, reused } };
}

/** Loads an offloaded result for the new run, because the stored payload expires with the source run. */
async function withValue(deps: Deps, sourceRun: RunAddress, result: ReusedNode): Promise<ReusedNode> {
  if (result.status !== 'completed' || 'value' in result.output) return result;
  return { ...result, output: { value: await loadPayload(deps, sourceRun, result.output.ref) } };
}

async function resolveCode(
  deps: Deps,
  head: BundleHead | CodeHead,
  { sourceRun, input, version, deploymentId, from }: RerunRequest,
): Promise<Resolved | RerunRefusal> {
  if (version !== undefined) return { kind: 'not_applicable', field: 'version' };
  if (from !== undefined) return { kind: 'not_applicable', field: 'fromNode' };
  const id = deploymentId ?? head.deploymentId;
  const ready = await findReadyDeployment(deps, sourceRun, id, head.workflow.name);
  if (ready.kind !== 'ready') return ready;
  return {
    kind: 'found',
    ...ready.serves,
    deploymentId: id,
    input: input ?? (await readRunInput(deps, head)),
    system: rerunSystemValues(sourceRun.runId),
  };
}
