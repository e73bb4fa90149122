/**
 * Running a run again: a new run of the same workflow, on the version or deployment it was pinned to or another one, with
 * its input or an edited one, from the beginning or from a chosen node. The run itself is not touched; it may be open or ended.
 */
import { acceptInput, type InputFault } from '../engine/graph/arguments.ts';
import { type KeptNode, resultsBefore } from '../engine/graph/rerun-from.ts';
import { type DeploymentId, type NodeId, type RunAddress, workflowName } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import { type CodeHead, type FetchHead, type GraphHead, isTestRun } from '../engine/log/head.ts';
import { systemOfRerun } from '../engine/log/lineage.ts';
import { type BeginAnswer, type BeginRequest, type Resolved, beginRun } from './begin-run.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { type NameClosed, closedBy, mayHave } from './open-workflow.ts';
import { load } from './payloads.ts';
import { readRun } from './read-log.ts';
import { type NotReady, readyDeployment } from './ready-deployment.ts';
import { inputOf } from './run-input.ts';

/** `bodyHash` covers the run that is run again, so that one key never means two of them. */
export interface RerunRequest extends Pick<BeginRequest, 'idempotencyKey' | 'bodyHash' | 'trace'> {
  readonly of: RunAddress;
  /** absent: what the run was given */
  readonly input?: JsonValue;
  /** absent: the version that the run was pinned to */
  readonly version?: number;
  /** of a run of a deployment; absent: the deployment that the run was on */
  readonly deploymentId?: DeploymentId;
  /** of a graph run: it goes on from here, and the results before it stand */
  readonly from?: NodeId;
}

type RerunRefusal =
  | NotReady
  | { readonly kind: 'node_not_found'; readonly nodeId: NodeId }
  /** asked for of a run of the other kind */
  | { readonly kind: 'fits_not'; readonly field: 'version' | 'deploymentId' | 'fromNode' }
  | { readonly kind: 'not_found' }
  /** no version of its graph was ever published */
  | { readonly kind: 'test_run' }
  | { readonly kind: 'version_not_found'; readonly workflowName: string }
  | { readonly kind: NameClosed | 'workflow_not_found' }
  | { readonly kind: 'input_invalid'; readonly faults: readonly InputFault[] };

export type RerunAnswer = BeginAnswer | RerunRefusal;

/** The endpoint under which a rerun's key is remembered. */
const rerunEndpoint = 'POST /v1/runs/{runId}/rerun';

export const rerunRun = (decider: Decider, request: RerunRequest): Promise<RerunAnswer> =>
  beginRun(decider, { ...keyOf(request), scope: request.of, endpoint: rerunEndpoint }, () => resolve(decider, request));

const keyOf = ({ idempotencyKey, bodyHash, trace }: RerunRequest) => ({
  idempotencyKey,
  bodyHash,
  ...(trace === undefined ? {} : { trace }),
});

async function resolve(decider: Decider, request: RerunRequest): Promise<Resolved | RerunRefusal> {
  const head = await decider.deps.log.head(request.of);
  if (head === undefined) return { kind: 'not_found' };
  return head.kind === 'graph' ? resolveGraph(decider, head, request) : resolveCode(decider.deps, head, request);
}

async function resolveGraph(
  { deps, plans }: Decider,
  head: GraphHead,
  { of, input, version: number, deploymentId, from }: RerunRequest,
): Promise<Resolved | RerunRefusal> {
  if (isTestRun(head)) return { kind: 'test_run' };
  if (deploymentId !== undefined) return { kind: 'fits_not', field: 'deploymentId' };
  const name = workflowName(head.workflow.name);
  const summary = await deps.workflows.summary(of, name);
  // Deleted, with its runs; this one may be the last that is not gone yet.
  if (summary === undefined) return { kind: 'workflow_not_found' };
  const closed = closedBy(summary);
  if (closed !== undefined) return { kind: closed };
  const wanted = number ?? head.workflow.version;
  const version = mayHave(summary, wanted) ? await deps.workflows.version(of, name, wanted) : undefined;
  if (version === undefined) return { kind: 'version_not_found', workflowName: name };
  const verdict = acceptInput(version.options.args, input ?? (await inputOf(deps, head)));
  if (verdict.kind === 'refused') return { kind: 'input_invalid', faults: verdict.faults };
  const found = { kind: 'found' as const, version, input: verdict.input };
  if (from === undefined) return { ...found, system: systemOfRerun(of.runId) };
  if (!version.nodes.some(({ id }) => id === from)) return { kind: 'node_not_found', nodeId: from };
  const earlier = await readRun(deps, of);
  invariant(earlier !== undefined, `run ${of.runId} has a head and no log`);
  const kept = await Promise.all(
    resultsBefore(plans.keep(of, version), earlier.state, from).map((result) => withValue(deps, of, result)),
  );
  return { ...found, system: systemOfRerun(of.runId, from), goesOn: { from, kept } };
}

/** A copy for the new run: what is stored apart belongs to the earlier one, and expires with it. */
async function withValue(deps: Deps, of: RunAddress, result: KeptNode): Promise<KeptNode> {
  if (result.status !== 'completed' || 'value' in result.output) return result;
  return { ...result, output: { value: await load(deps, of, result.output.ref) } };
}

async function resolveCode(
  deps: Deps,
  head: FetchHead | CodeHead,
  { of, input, version, deploymentId, from }: RerunRequest,
): Promise<Resolved | RerunRefusal> {
  if (version !== undefined) return { kind: 'fits_not', field: 'version' };
  if (from !== undefined) return { kind: 'fits_not', field: 'fromNode' };
  const id = deploymentId ?? head.deploymentId;
  const ready = await readyDeployment(deps, of, id, head.workflow.name);
  if (ready.kind !== 'ready') return ready;
  return {
    kind: 'found',
    ...ready.serves,
    deploymentId: id,
    input: input ?? (await inputOf(deps, head)),
    system: systemOfRerun(of.runId),
  };
}
