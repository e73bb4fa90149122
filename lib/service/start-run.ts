/** Starting a run of a workflow's latest version. */
import { acceptInput, type InputFault } from '../engine/graph/arguments.ts';
import type { WorkflowName } from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import { activeIn } from '../ports/deployments.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { type BeginAnswer, type BeginRequest, type Resolved, beginRun } from './begin-run.ts';
import type { Decider } from './decide-run.ts';

export interface StartRequest extends Omit<BeginRequest, 'endpoint'> {
  readonly workflowName: WorkflowName;
  readonly input?: JsonValue;
}

type StartRefusal =
  | { readonly kind: 'no_active_deployment' }
  | { readonly kind: 'workflow_not_found' }
  | { readonly kind: 'workflow_archived' }
  | { readonly kind: 'input_invalid'; readonly faults: readonly InputFault[] };

export type StartAnswer = BeginAnswer | StartRefusal;

/** The endpoint under which a start's key is remembered. */
const startEndpoint = 'POST /v1/runs';

export const startRun = (decider: Decider, request: StartRequest): Promise<StartAnswer> =>
  beginRun(decider, { ...request, endpoint: startEndpoint }, () => resolve(decider, request));

/** The graph of that name; else the active deployment's workflow of that name, where there is a deployment. */
async function resolve({ deps, plans }: Decider, request: StartRequest): Promise<Resolved | StartRefusal> {
  const summary = await deps.workflows.summary(request.scope, request.workflowName);
  if (summary === undefined) {
    return {
      kind: activeIn(await deps.deployments.pointer(request.scope)) === undefined ? 'no_active_deployment' : 'workflow_not_found',
    };
  }
  if (summary.archivedAt !== undefined) return { kind: 'workflow_archived' };
  const version = await plans.version(deps, request.scope, { name: summary.name, version: summary.latestVersion });
  if (version === undefined) throw new Unavailable(`version ${summary.latestVersion} of ${summary.name}`);
  const verdict = acceptInput(version.options.args, request.input);
  return verdict.kind === 'refused'
    ? { kind: 'input_invalid', faults: verdict.faults }
    : { kind: 'found', version, input: verdict.input };
}
