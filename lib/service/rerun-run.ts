/**
 * Running a run again: a new run of the same workflow, on the version it was pinned to or another one, with its input
 * or an edited one. The run itself is not touched; it may be open or ended.
 */
import { acceptInput, type InputFault } from '../engine/graph/arguments.ts';
import { type RunAddress, workflowName } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import type { Head } from '../engine/log/head.ts';
import { systemOfRerun } from '../engine/log/lineage.ts';
import { type BeginAnswer, type BeginRequest, type Resolved, beginRun } from './begin-run.ts';
import type { Decider } from './decide-run.ts';
import type { Deps } from './deps.ts';
import { load } from './payloads.ts';

/** `bodyHash` covers the run that is run again, so that one key never means two of them. */
export interface RerunRequest extends Pick<BeginRequest, 'idempotencyKey' | 'bodyHash' | 'trace'> {
  readonly of: RunAddress;
  /** absent: what the run was given */
  readonly input?: JsonValue;
  /** absent: the version that the run was pinned to */
  readonly version?: number;
}

type RerunRefusal =
  | { readonly kind: 'not_found' }
  | { readonly kind: 'version_not_found'; readonly workflowName: string }
  | { readonly kind: 'workflow_archived' }
  | { readonly kind: 'input_invalid'; readonly faults: readonly InputFault[] };

export type RerunAnswer = BeginAnswer | RerunRefusal;

/** The endpoint under which a rerun's key is remembered. */
const rerunEndpoint = 'POST /v1/runs/{runId}/rerun';

export const rerunRun = (decider: Decider, request: RerunRequest): Promise<RerunAnswer> =>
  beginRun(decider, { ...keyOf(request), scope: request.of, endpoint: rerunEndpoint }, () => resolve(decider.deps, request));

const keyOf = ({ idempotencyKey, bodyHash, trace }: RerunRequest) => ({
  idempotencyKey,
  bodyHash,
  ...(trace === undefined ? {} : { trace }),
});

async function resolve(deps: Deps, { of, input, version: number }: RerunRequest): Promise<Resolved | RerunRefusal> {
  const head = await deps.log.head(of);
  if (head === undefined) return { kind: 'not_found' };
  const name = workflowName(head.workflow.name);
  const summary = await deps.workflows.summary(of, name);
  invariant(summary !== undefined, `the workflow ${name}, which a run is of, is gone`);
  if (summary.archivedAt !== undefined) return { kind: 'workflow_archived' };
  const version = await deps.workflows.version(of, name, number ?? head.workflow.version);
  if (version === undefined) return { kind: 'version_not_found', workflowName: name };
  const verdict = acceptInput(version.options.args, input ?? (await inputOf(deps, head)));
  return verdict.kind === 'refused'
    ? { kind: 'input_invalid', faults: verdict.faults }
    : { kind: 'found', version, input: verdict.input, system: systemOfRerun(of.runId) };
}

/** What the run was given, wherever it lies. The new run keeps a copy of its own: each expires with its run. */
async function inputOf(deps: Pick<Deps, 'blobs' | 'log'>, { address, commit }: Head): Promise<JsonValue> {
  const given = commit.events.find((event) => event.type === 'INPUT_SET')?.input;
  invariant(given !== undefined, `the first commit of ${address.runId} says no input`);
  return 'ref' in given ? load(deps, address, given.ref) : given.value;
}
