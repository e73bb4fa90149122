/** Starts the child run that a node called. Repeated attempts start one run. */
import { defined } from '../../base/defined.ts';
import type { ChildEnd } from '../../engine/graph/facts.ts';
import { shownInput } from '../../engine/graph/shown-values.ts';
import { type RunAddress, type Scope, nonce, workflowName, workflowNamePattern } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';
import { type Head, isTestRun, latestDeadlineOf } from '../../engine/log/head.ts';
import { callerOf, callerSystemValues } from '../../engine/log/lineage.ts';
import type { ChildWait } from '../../engine/log/node-state.ts';
import { createHash } from 'node:crypto';
import { type RunTerms, createRun, isCreated, markEarly } from './create-run.ts';
import type { Resolved } from '../new-run.ts';
import type { Decider } from '../decider.ts';
import { loadPayload } from '../run-log/payloads.ts';
import { type StartReads, readForStart, resolveStart, resolveVersion } from './start-run.ts';

/** Maximum depth of nested runs, including the first one; it stops a workflow that calls itself. */
export const maxCallDepth = 8;

type RefusedEnd = Extract<ChildEnd, { status: 'refused' }>;

interface ChildStartTerms {
  /** takes the first job of a graph run in place of a queue; with `isForCode` that of a run of code */
  readonly runsFirst?: RunTerms['runsFirst'];
  /** for the function that executes code: the process creates no graph runs */
  readonly isForCode?: boolean;
  /** the search for the workflow, if it has begun; ignored for another name, and for a version */
  readonly resolving?: Resolving | undefined;
}

interface Resolving {
  readonly workflowName: string;
  readonly reads: Promise<StartReads>;
}

/** Begins to search for the workflow, before the caller has found the call in a log. */
export function beginResolving(decider: Decider, scope: Scope, name: string): Resolving | undefined {
  if (!workflowNamePattern.test(name)) return undefined;
  const reads = readForStart(decider, scope, workflowName(name));
  // The start throws the error, if it needs the workflow.
  reads.catch(() => undefined);
  return { workflowName: name, reads };
}

/** @returns why the run cannot be started, with its input; undefined if it exists; `not_here`: a process that creates graph runs must start it */
export function startChildRun(
  decider: Decider,
  caller: { readonly head: Head },
  wait: ChildWait,
  terms?: ChildStartTerms & { readonly isForCode?: false },
): Promise<RefusedEnd | undefined>;
export function startChildRun(
  decider: Decider,
  caller: { readonly head: Head },
  wait: ChildWait,
  terms: ChildStartTerms & { readonly isForCode: true },
): Promise<RefusedEnd | 'not_here' | undefined>;
export async function startChildRun(
  decider: Decider,
  { head }: { readonly head: Head },
  wait: ChildWait,
  terms: ChildStartTerms = {},
): Promise<RefusedEnd | 'not_here' | undefined> {
  const input = 'value' in wait.input ? wait.input.value : await loadPayload(decider.deps, head.address, wait.input.ref);
  const refusal = await createChildRun(decider, head, wait, { input, ...terms });
  if (refusal === undefined || refusal === 'not_here') return refusal;
  const { workflowName: workflow, version } = wait;
  const details = { ...refusal.error.details, input: defined({ workflow, version, input: shownInput(input) }) };
  return { status: 'refused', error: { ...refusal.error, details } };
}

async function createChildRun(
  decider: Decider,
  head: Head,
  wait: ChildWait,
  { input, runsFirst, isForCode, resolving }: ChildStartTerms & { readonly input: JsonValue },
): Promise<Refused | 'not_here' | undefined> {
  const { deps } = decider;
  const depth = (callerOf(head)?.depth ?? 0) + 1;
  if (depth >= maxCallDepth)
    return refused(
      'invalid',
      'subflow_too_deep',
      `the call would exceed the maximum of ${maxCallDepth - 1} nested child runs; check for a workflow that calls itself`,
    );
  const now = deps.clock.now();
  // A child never lasts longer than its caller may last, and no run starts after its deadline.
  if (head.deadlineAt <= now) return refused('deadline', 'deadline_exceeded', 'the deadline of the calling run has passed');
  // The child of a test run is deleted with it, and records its due entries. A run of code is marked beside the pin of its deployment.
  const marked =
    isTestRun(head) || isForCode === true ? undefined : markEarly(deps, { ...scopeOf(head), runId: wait.childRunId });
  const [resolved] = await Promise.all([resolve(decider, head.address, wait, input, resolving), marked?.checkAt]);
  if (resolved.kind !== 'found') return resolved;
  if (isForCode === true && 'version' in resolved) return 'not_here';
  const mayRunFirst = isForCode === true ? 'runtime' in resolved && resolved.runtime === 'code' : 'version' in resolved;
  const { nodeId, iteration, attempt, parentClosePolicy, childRunId } = wait;
  const system = callerSystemValues(
    defined({
      runId: head.address.runId,
      nodeId,
      iteration,
      attempt,
      depth,
      parentClosePolicy,
      isCode: head.kind === 'code' ? true : undefined,
    }),
  );
  const { runId } = head.address;
  const terms = defined({
    scope: scopeOf(head),
    bodyHash: createHash('sha256').update(`${runId}/${childRunId}`).digest('hex'),
    maxDeadlineAt: latestDeadlineOf(head),
    trace: head.trace,
    runsFirst: mayRunFirst ? runsFirst : undefined,
    marked,
  });
  // Every attempt writes the head with the same nonce, so an attempt that finds it written recognises this run.
  const reservation = { runId: childRunId, owner: nonce(`call-${childRunId}`) };
  // The child of a test run is deleted with it. A run of deployed code is a normal run.
  const testFields = isTestRun(head) && 'version' in resolved ? { isTestChild: true as const } : {};
  const created = await createRun(decider, terms, reservation, { ...resolved, system, ...testFields }, now);
  if (isCreated(created) || created.kind === 'run_exists') return undefined;
  if (created.kind === 'run_deleted')
    return refused('error', created.kind, `the called run of ${wait.workflowName} was deleted with its workflow`);
  return refused('error', created.kind, `the workflow ${wait.workflowName} cannot be called now: ${created.kind}`);
}

const scopeOf = ({ address: { projectId, environment } }: Head) => ({ projectId, environment });

type Refused = Extract<ChildEnd, { status: 'refused' }> & { readonly kind: 'refused' };

const refused = (cause: Failure['cause'], code: string, message: string, errors?: JsonValue): Refused => ({
  kind: 'refused',
  status: 'refused',
  error: defined({ cause, code, message, details: errors === undefined ? undefined : { errors } }),
});

async function resolve(
  decider: Decider,
  scope: RunAddress,
  { workflowName: name, version }: ChildWait,
  input: JsonValue,
  resolving: Resolving | undefined,
): Promise<Resolved | Refused> {
  if (!workflowNamePattern.test(name))
    return refused('invalid', 'subflow_invalid', `${JSON.stringify(name)} is not a valid workflow name`);
  const found =
    version === undefined
      ? await resolveStart(
          decider,
          defined({
            scope,
            workflowName: workflowName(name),
            input,
            reads: resolving?.workflowName === name ? resolving.reads : undefined,
          }),
        )
      : await resolveVersion(decider, scope, { name: workflowName(name), version }, input);
  switch (found.kind) {
    case 'found':
      return found;
    case 'input_invalid': {
      const errors = found.errors.map((inputError) => ({ ...inputError }));
      return refused('invalid', found.kind, `the input does not match the arguments of the workflow ${name}`, errors);
    }
    case 'no_active_deployment':
    case 'deployment_not_found':
    case 'deployment_not_verified':
      // Retryable, because the code may be deployed at any moment.
      return refused('error', found.kind, `no published workflow and no ready deployment has the name ${name}`);
    case 'workflow_not_found':
      return refused(
        'invalid',
        found.kind,
        `${version === undefined ? '' : `version ${version} of `}the workflow ${name} does not exist`,
      );
    case 'workflow_archived':
      return refused('invalid', found.kind, `the workflow ${name} is archived; publish a version to call it again`);
    case 'workflow_deleting':
      return refused('invalid', found.kind, `the workflow ${name} is being deleted`);
  }
}
