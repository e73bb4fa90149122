/**
 * Reruns a run: creates a new run of the same workflow, on the same or another version or deployment, with the same or another input,
 * from the beginning or from a chosen node or step. The source run is not changed; it may be open or ended.
 */
import { defined } from '../../base/defined.ts';
import type { InputError } from '../../engine/graph/validate-input.ts';
import type { RerunHistory } from '../../engine/durable/rerun-from-step.ts';
import type { DeploymentId, RunAddress } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type BeginResult, type BeginRequest, beginRun } from './begin-run.ts';
import type { Resolved } from '../new-run.ts';
import { type Decider, kindOf } from '../decider.ts';
import type { ClosedReason } from '../definitions/closed-reason.ts';
import type { NotReady } from '../deployments/find-ready-deployment.ts';

/** `bodyHash` covers the source run, so that a key never refers to reruns of two runs. */
export interface RerunRequest extends Pick<BeginRequest, 'idempotencyKey' | 'bodyHash' | 'trace'> {
  readonly sourceRun: RunAddress;
  /** absent: the input of the source run */
  readonly input?: JsonValue;
  /** absent: the version of the source run */
  readonly version?: number;
  /** for a run of a deployment; absent: the deployment of the source run */
  readonly deploymentId?: DeploymentId;
  /** node of a graph run, or step of a code run by its key or node id: the rerun starts here and reuses the results before it */
  readonly from?: string;
  /** for a code run: values in place of the results of reused steps, by key or node id */
  readonly results?: Readonly<Record<string, JsonValue>>;
  /** for a graph run: outputs in place of those of reused nodes */
  readonly replace?: Readonly<Record<string, { readonly output: JsonValue }>>;
}

export type RerunRefusal =
  | NotReady
  | { readonly kind: 'node_not_found'; readonly nodeId: string }
  /** the run can still end its steps, or undo them */
  | { readonly kind: 'run_open' }
  | Exclude<RerunHistory, { readonly kind: 'history' }>
  /** too many values to copy within one request */
  | { readonly kind: 'too_many_values'; readonly values: number; readonly limit: number }
  /** the field does not apply to runs of this kind */
  | { readonly kind: 'not_applicable'; readonly field: 'version' | 'deploymentId' | 'fromNode' | 'results' | 'replace' | 'input' }
  /** replaced outputs of nodes that the rerun does not reuse */
  | { readonly kind: 'outputs_not_kept'; readonly nodeIds: readonly string[] }
  | { readonly kind: 'not_found' }
  /** a test run cannot be rerun, because its graph was never published */
  | { readonly kind: 'test_run' }
  | { readonly kind: 'version_not_found'; readonly workflowName: string }
  | { readonly kind: ClosedReason | 'workflow_not_found' }
  | { readonly kind: 'input_invalid'; readonly errors: readonly InputError[] };

/** What a rerun starts, or why it is refused. */
export type ResolvedRerun = Resolved | RerunRefusal;

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

async function resolve(decider: Decider, request: RerunRequest): Promise<ResolvedRerun> {
  const head = await decider.deps.log.head(request.sourceRun);
  if (head === undefined) return { kind: 'not_found' };
  if (request.replace !== undefined && head.kind !== 'graph') return { kind: 'not_applicable', field: 'replace' };
  return kindOf(decider, head).resolveRerun(decider, head, request);
}
