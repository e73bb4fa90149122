/** Starting a run of a workflow's latest version, or of a deployment's code. */
import { acceptInput, type InputFault } from '../engine/graph/arguments.ts';
import type { DeploymentId, WorkflowName } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import { activeIn } from '../ports/deployments.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type BeginAnswer, type BeginRequest, type Resolved, beginRun } from './begin-run.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { type NameClosed, closedBy, mayHave } from './open-workflow.ts';
import { type NotReady, readyDeployment } from './ready-deployment.ts';

export interface StartRequest extends Omit<BeginRequest, 'endpoint'> {
  /** absent: that of `POST /v1/runs` */
  readonly endpoint?: string;
  readonly workflowName: WorkflowName;
  readonly input?: JsonValue;
  /** absent: the graph of that name, else the active deployment's */
  readonly deploymentId?: DeploymentId;
}

/** What a start is looked up by. */
export interface StartAsked extends Pick<StartRequest, 'scope' | 'workflowName' | 'input' | 'deploymentId'> {
  /** a version that the graph had once: where it has begun above it since, that graph was deleted, and this is another one of its name */
  readonly atVersion?: number;
}

export type StartRefusal =
  | NotReady
  | { readonly kind: 'no_active_deployment' }
  | { readonly kind: NameClosed }
  | { readonly kind: 'input_invalid'; readonly faults: readonly InputFault[] };

/** `deadline_passed`: of a run that does not exist yet. A repetition of a start that was accepted gets that run. */
export type StartAnswer = BeginAnswer | StartRefusal | { readonly kind: 'deadline_passed' };

/** The endpoint under which a start's key is remembered. */
const startEndpoint = 'POST /v1/runs';

export const startRun = (decider: Decider, request: StartRequest): Promise<StartAnswer> =>
  beginRun(decider, { endpoint: startEndpoint, ...request }, async (now) =>
    request.deadlineAt !== undefined && request.deadlineAt <= now
      ? { kind: 'deadline_passed' as const }
      : resolveStart(decider, request),
  );

/** The graph of that name; else the active deployment's workflow of that name; or the one of the deployment that was named. */
export async function resolveStart(
  { deps, plans }: Pick<Decider, 'deps' | 'plans'>,
  request: StartAsked,
): Promise<Resolved | StartRefusal> {
  const { scope, workflowName, deploymentId, atVersion = Infinity } = request;
  if (deploymentId !== undefined) return onDeployment(deps, request, deploymentId);
  const published = await deps.workflows.summary(scope, workflowName);
  const closed = published && (mayHave(published, atVersion) ? closedBy(published) : 'workflow_not_found');
  if (published === undefined || closed !== undefined) {
    const active = activeIn(await deps.deployments.pointer(scope));
    if (active === undefined) return { kind: closed ?? 'no_active_deployment' };
    const found = await onDeployment(deps, request, active);
    // The pointer's deployment goes only when another has taken its place.
    const isElsewhere = found.kind !== 'workflow_not_found' && found.kind !== 'deployment_not_found';
    return isElsewhere ? found : { kind: closed ?? 'workflow_not_found' };
  }
  const version = await plans.version(deps, scope, { name: published.name, version: published.latestVersion });
  if (version === undefined) throw new Unavailable(`version ${published.latestVersion} of ${published.name}`);
  const verdict = acceptInput(version.options.args, request.input);
  return verdict.kind === 'refused'
    ? { kind: 'input_invalid', faults: verdict.faults }
    : { kind: 'found', version, input: verdict.input };
}

async function onDeployment(
  deps: Deps,
  { scope, workflowName, input = {} }: StartAsked,
  deploymentId: DeploymentId,
): Promise<Resolved | NotReady> {
  const ready = await readyDeployment(deps, scope, deploymentId, workflowName);
  return ready.kind === 'ready' ? { kind: 'found', ...ready.serves, deploymentId, input } : ready;
}
