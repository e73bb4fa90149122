/** Starts a run of a workflow's latest version, of a version by its number, or of a deployment's code. */
import { defined } from '../../base/defined.ts';
import type { WorkflowVersion } from '../../engine/graph/definition.ts';
import { validateInput, type InputError } from '../../engine/graph/validate-input.ts';
import {
  type AppName,
  type DeploymentId,
  type DevKitName,
  type Scope,
  type WorkflowName,
  isDevKitName,
} from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type ActivePointer, appServing } from '../../ports/deployments.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import { type BeginResult, type BeginRequest, beginRun, settled } from './begin-run.ts';
import type { Resolved } from '../new-run.ts';
import type { Decider, Resolver } from '../decider.ts';
import type { Deps } from '../deps.ts';
import { type ClosedReason, closedReason, hasVersion } from '../definitions/closed-reason.ts';
import { resolveDevKitStart } from './resolve-devkit-start.ts';
import { type NotReady, findReadyDeployment } from '../deployments/find-ready-deployment.ts';

export interface StartRequest extends Omit<BeginRequest, 'endpoint' | 'resolvesBesideKey'> {
  /** absent: `POST /v1/runs` */
  readonly endpoint?: string;
  readonly workflowName: WorkflowName | DevKitName;
  readonly input?: JsonValue;
  /** absent: the published graph of that name, else the active deployment */
  readonly deploymentId?: DeploymentId;
  /** a version of the published graph, and no deployment; absent: the latest one */
  readonly version?: number;
  /** system values for the first commit of the run: what started it, if no request did */
  readonly system?: Resolved['system'];
}

/** The fields that determine what a start runs. */
export interface StartLookup extends Pick<StartRequest, 'scope' | 'workflowName' | 'input' | 'deploymentId'> {
  /** an earlier version of the intended graph: if the current graph's first version is higher, the intended one was deleted */
  readonly atVersion?: number;
  /** the refusal of an unknown workflow names the newest inactive deployment that has it: only for functions that may list deployments */
  readonly namesInactive?: true;
  /** what the start reads first, if the reads have begun */
  readonly reads?: Promise<StartReads>;
}

export interface StartReads {
  /** the published graph of the name */
  readonly published: Awaited<ReturnType<Deps['workflows']['summary']>>;
  /** the active deployments: read already if the last start of the name needed them, and else now */
  readonly pointer: () => Promise<ActivePointer | undefined>;
}

export interface UnknownWorkflow {
  readonly kind: 'workflow_not_found';
  /** a deployment that has the workflow and is not active */
  readonly inactive?: { readonly deploymentId: DeploymentId; readonly app: AppName };
}

export type StartRefusal =
  | Exclude<NotReady, { kind: 'workflow_not_found' }>
  | UnknownWorkflow
  | { readonly kind: 'no_active_deployment' }
  | { readonly kind: Exclude<ClosedReason, 'workflow_not_found'> }
  | { readonly kind: 'input_invalid'; readonly errors: readonly InputError[] };

/** `deadline_passed`: only for a run that does not exist. A repeated start returns the existing run. */
export type StartResult = BeginResult | StartRefusal | { readonly kind: 'deadline_passed' | 'version_not_found' };

/** The endpoint of a start's idempotency key. */
const startEndpoint = 'POST /v1/runs';

export const startRun = (decider: Decider, request: StartRequest): Promise<StartResult> =>
  beginRun(decider, { endpoint: startEndpoint, resolvesBesideKey: true, ...request }, async (now) => {
    const { deadlineAt, version, system } = request;
    if (deadlineAt !== undefined && deadlineAt <= now) return { kind: 'deadline_passed' as const };
    const resolved =
      version === undefined
        ? await resolveStart(decider, { ...request, namesInactive: true })
        : await resolvePinned(decider, { ...request, version });
    return resolved.kind === 'found' && system !== undefined ? { ...resolved, system } : resolved;
  });

/** Finds a version of a published graph that accepts runs. */
export async function resolvePinned(
  { deps, plans }: Resolver,
  {
    scope,
    workflowName,
    version: number,
    input,
  }: Pick<StartLookup, 'scope' | 'workflowName' | 'input'> & { readonly version: number },
): Promise<Resolved | StartRefusal | { readonly kind: 'version_not_found' }> {
  // No graph has the name of a workflow of the Workflow DevKit.
  const summary = isDevKitName(workflowName) ? undefined : await deps.workflows.summary(scope, workflowName);
  if (summary === undefined) return { kind: 'workflow_not_found' };
  const closed = closedReason(summary);
  if (closed !== undefined) return { kind: closed };
  const version = hasVersion(summary, number)
    ? await plans.version(deps, scope, { name: summary.name, version: number })
    : undefined;
  return version === undefined ? { kind: 'version_not_found' } : withInput(version, input);
}

function withInput(
  version: WorkflowVersion,
  input: JsonValue | undefined,
): Resolved | Extract<StartRefusal, { kind: 'input_invalid' }> {
  const checked = validateInput(version.options.args, input);
  return checked.kind === 'refused'
    ? { kind: 'input_invalid', errors: checked.errors }
    : { kind: 'found', version, input: checked.input };
}

/** Finds the workflow: in the named deployment, else the published graph, else in the active deployment. */
export async function resolveStart(resolver: Resolver, request: StartLookup): Promise<Resolved | StartRefusal> {
  const { deps, plans, known } = resolver;
  const { scope, workflowName, deploymentId, atVersion = Infinity } = request;
  if (deploymentId !== undefined) return resolveOnDeployment(resolver, request, deploymentId);
  // No graph has such a name.
  if (isDevKitName(workflowName)) return resolveOnActive(resolver, request, undefined, await deps.deployments.pointer(scope));
  const { published, pointer } = await (request.reads ?? readForStart(resolver, scope, workflowName));
  const closed = published && (hasVersion(published, atVersion) ? closedReason(published) : 'workflow_not_found');
  if (published === undefined || closed !== undefined) {
    const resolved = await resolveOnActive(resolver, request, closed, await pointer());
    if (resolved.kind === 'found') known?.served.set(servedName(scope, workflowName), true);
    return resolved;
  }
  known?.served.delete(servedName(scope, workflowName));
  const version = await plans.version(deps, scope, { name: published.name, version: published.latestVersion });
  if (version === undefined) throw new Unavailable(`version ${published.latestVersion} of ${published.name}`);
  return withInput(version, request.input);
}

const servedName = ({ projectId, environment }: Scope, name: WorkflowName): string =>
  JSON.stringify([projectId, environment, name]);

/** What a start of the name reads first. A start may begin this before it knows that it is needed. */
export async function readForStart({ deps, known }: Resolver, scope: Scope, name: WorkflowName): Promise<StartReads> {
  const readPointer = (): Promise<ActivePointer | undefined> => deps.deployments.pointer(scope);
  const [published, pointer] = await Promise.all([
    deps.workflows.summary(scope, name),
    known?.served.has(servedName(scope, name)) === true ? settled(readPointer()) : readPointer,
  ]);
  return { published, pointer };
}

/** @param closed why the published graph of this name cannot start; undefined: there is none */
async function resolveOnActive(
  resolver: Resolver,
  request: StartLookup,
  closed: ClosedReason | 'workflow_not_found' | undefined,
  pointer: ActivePointer | undefined,
): Promise<Resolved | StartRefusal> {
  const { scope, workflowName } = request;
  const serving = appServing(pointer, workflowName);
  if (serving === undefined) {
    if (closed !== undefined && closed !== 'workflow_not_found') return { kind: closed };
    if (closed === undefined && (pointer === undefined || pointer.apps.length === 0)) return { kind: 'no_active_deployment' };
    return request.namesInactive === true ? findInactive(resolver.deps, scope, workflowName) : { kind: 'workflow_not_found' };
  }
  const found = await resolveOnDeployment(resolver, request, serving.history[0].deploymentId);
  // An active deployment cannot be removed, so `deployment_not_found` means that the pointer moved meanwhile.
  return found.kind === 'deployment_not_found' ? { kind: closed ?? 'workflow_not_found' } : found;
}

/** A refused start searches the newest deployments only. */
const deploymentsSearched = 25;

/** The refusal of an unknown workflow. It names the newest inactive deployment that has the workflow. */
async function findInactive(
  { deployments }: Pick<Deps, 'deployments'>,
  scope: Scope,
  name: WorkflowName | DevKitName,
): Promise<UnknownWorkflow> {
  const newest = await deployments.list(scope, { limit: deploymentsSearched });
  const found = newest.deployments.find(
    ({ manifest, removingSince }) => removingSince === undefined && manifest.workflows.some((each) => each.name === name),
  );
  if (found === undefined) return { kind: 'workflow_not_found' };
  const { deploymentId, app } = found.manifest;
  return { kind: 'workflow_not_found', inactive: { deploymentId, app } };
}

async function resolveOnDeployment(
  resolver: Resolver,
  { scope, workflowName, input }: StartLookup,
  deploymentId: DeploymentId,
): Promise<Resolved | NotReady> {
  if (isDevKitName(workflowName)) return resolveDevKitStart(resolver, defined({ scope, workflowName, input, deploymentId }));
  const ready = await findReadyDeployment(resolver, scope, deploymentId, workflowName);
  return ready.kind === 'ready'
    ? { kind: 'found', ...ready.serves, deploymentId, input: input === undefined ? {} : input }
    : ready;
}

/** Finds a version of a workflow by its number. The versions of an archived workflow can still be started so. */
export async function resolveVersion(
  { deps, plans }: Decider,
  scope: Scope,
  pinned: { readonly name: WorkflowName; readonly version: number },
  input: JsonValue,
) {
  const summary = await deps.workflows.summary(scope, pinned.name);
  if (summary === undefined || !hasVersion(summary, pinned.version)) return { kind: 'workflow_not_found' as const };
  if (summary.deletingSince !== undefined) return { kind: 'workflow_deleting' as const };
  const version = await plans.version(deps, scope, pinned);
  if (version === undefined) return { kind: 'workflow_not_found' as const };
  return withInput(version, input);
}
