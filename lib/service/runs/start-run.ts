/** Starting a run of a workflow's latest version, or of a deployment's code. */
import { validateInput, type InputError } from '../../engine/graph/validate-input.ts';
import type { DeploymentId, WorkflowName } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import { activeDeploymentIn } from '../../ports/deployments.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type BeginResult, type BeginRequest, type Resolved, beginRun } from './begin-run.ts';
import type { Decider } from '../commit/decide-run.ts';
import type { Deps } from '../deps.ts';
import { type ClosedReason, closedReason, hasVersion } from '../definitions/closed-reason.ts';
import { type NotReady, findReadyDeployment } from '../deployments/find-ready-deployment.ts';

export interface StartRequest extends Omit<BeginRequest, 'endpoint'> {
  /** absent: that of `POST /v1/runs` */
  readonly endpoint?: string;
  readonly workflowName: WorkflowName;
  readonly input?: JsonValue;
  /** absent: the graph of that name, else the active deployment's */
  readonly deploymentId?: DeploymentId;
}

/** What a start is looked up by. */
export interface StartLookup extends Pick<StartRequest, 'scope' | 'workflowName' | 'input' | 'deploymentId'> {
  /** a version that the graph had once: where it has begun above it since, that graph was deleted, and this is another one of its name */
  readonly atVersion?: number;
}

export type StartRefusal =
  | NotReady
  | { readonly kind: 'no_active_deployment' }
  | { readonly kind: ClosedReason }
  | { readonly kind: 'input_invalid'; readonly errors: readonly InputError[] };

/** `deadline_passed`: of a run that does not exist yet. A repetition of a start that was accepted gets that run. */
export type StartResult = BeginResult | StartRefusal | { readonly kind: 'deadline_passed' };

/** The endpoint under which a start's key is remembered. */
const startEndpoint = 'POST /v1/runs';

export const startRun = (decider: Decider, request: StartRequest): Promise<StartResult> =>
  beginRun(decider, { endpoint: startEndpoint, ...request }, async (now) =>
    request.deadlineAt !== undefined && request.deadlineAt <= now
      ? { kind: 'deadline_passed' as const }
      : resolveStart(decider, request),
  );

/** The graph of that name; else the active deployment's workflow of that name; or the one of the deployment that was named. */
export async function resolveStart(
  { deps, plans }: Pick<Decider, 'deps' | 'plans'>,
  request: StartLookup,
): Promise<Resolved | StartRefusal> {
  const { scope, workflowName, deploymentId, atVersion = Infinity } = request;
  if (deploymentId !== undefined) return resolveOnDeployment(deps, request, deploymentId);
  const published = await deps.workflows.summary(scope, workflowName);
  const closed = published && (hasVersion(published, atVersion) ? closedReason(published) : 'workflow_not_found');
  if (published === undefined || closed !== undefined) {
    const active = activeDeploymentIn(await deps.deployments.pointer(scope));
    if (active === undefined) return { kind: closed ?? 'no_active_deployment' };
    const found = await resolveOnDeployment(deps, request, active);
    // The pointer's deployment goes only when another has taken its place.
    const isElsewhere = found.kind !== 'workflow_not_found' && found.kind !== 'deployment_not_found';
    return isElsewhere ? found : { kind: closed ?? 'workflow_not_found' };
  }
  const version = await plans.version(deps, scope, { name: published.name, version: published.latestVersion });
  if (version === undefined) throw new Unavailable(`version ${published.latestVersion} of ${published.name}`);
  const checkedInput = validateInput(version.options.args, request.input);
  return checkedInput.kind === 'refused'
    ? { kind: 'input_invalid', errors: checkedInput.errors }
    : { kind: 'found', version, input: checkedInput.input };
}

async function resolveOnDeployment(
  deps: Deps,
  { scope, workflowName, input = {} }: StartLookup,
  deploymentId: DeploymentId,
): Promise<Resolved | NotReady> {
  const ready = await findReadyDeployment(deps, scope, deploymentId, workflowName);
  return ready.kind === 'ready' ? { kind: 'found', ...ready.serves, deploymentId, input } : ready;
}
