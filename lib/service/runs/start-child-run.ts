/** Makes the run that a node called, once however often it is asked. */
import { defined } from '../../engine/defined.ts';
import { validateInput } from '../../engine/graph/validate-input.ts';
import type { ChildEnd } from '../../engine/graph/facts.ts';
import { type WorkflowName, nonce, workflowName, workflowNamePattern } from '../../engine/ids.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { Failure } from '../../engine/log/events.ts';
import { isTestRun } from '../../engine/log/head.ts';
import { callerOf, callerSystemValues } from '../../engine/log/lineage.ts';
import type { ChildWait } from '../../engine/log/node-state.ts';
import { createHash } from 'node:crypto';
import { type Resolved, createHead, isCreated } from './begin-run.ts';
import type { Decider } from '../commit/decide-run.ts';
import { hasVersion } from '../definitions/closed-reason.ts';
import { loadPayload } from '../run-log/payloads.ts';
import type { RunFold } from '../run-log/read-run-fold.ts';
import { resolveStart } from './start-run.ts';

/** Runs above each other, the first included: a workflow that calls itself must come to an end. */
export const maxCallDepth = 8;

/** @returns why it cannot be made, where it cannot; undefined once it is there */
export async function startChildRun(
  decider: Decider,
  { head }: RunFold,
  wait: ChildWait,
): Promise<Extract<ChildEnd, { status: 'refused' }> | undefined> {
  const { deps } = decider;
  const depth = (callerOf(head)?.depth ?? 0) + 1;
  if (depth >= maxCallDepth)
    return refused(
      'invalid',
      'subflow_too_deep',
      `runs may call each other ${maxCallDepth - 1} deep, and this would be one more`,
    );
  const now = deps.clock.now();
  // No run begins after its deadline, and a child's is no later than its caller's.
  if (head.deadlineAt <= now) return refused('deadline', 'deadline_exceeded', 'the deadline of the calling run has passed');
  const input = 'value' in wait.input ? wait.input.value : await loadPayload(deps, head.address, wait.input.ref);
  const resolved = await resolve(decider, head.address, wait, input);
  if (resolved.kind !== 'found') return resolved;
  const { nodeId, iteration, attempt, parentClosePolicy, childRunId } = wait;
  const system = callerSystemValues({ runId: head.address.runId, nodeId, iteration, attempt, depth, parentClosePolicy });
  const { runId } = head.address;
  const terms = defined({
    scope: scopeOf(head),
    bodyHash: createHash('sha256').update(`${runId}/${childRunId}`).digest('hex'),
    maxDeadlineAt: head.deadlineAt,
    trace: head.trace,
  });
  // Everybody who makes it writes under the same name, so whoever finds it written knows that it is this one.
  const reservation = { runId: childRunId, owner: nonce(`call-${childRunId}`) };
  // What a test calls goes with it when it is stopped. Code of a deployment runs as it always does.
  const testFields = isTestRun(head) && 'version' in resolved ? { isTestChild: true as const } : {};
  const created = await createHead(decider, terms, reservation, { ...resolved, system, ...testFields }, now);
  if (isCreated(created) || created.kind === 'run_exists') return undefined;
  if (created.kind === 'run_deleted')
    return refused('error', created.kind, `the run of ${wait.workflowName} that this node called was deleted with its workflow`);
  return refused('error', created.kind, `the workflow ${wait.workflowName} cannot be called now: ${created.kind}`);
}

const scopeOf = ({ address: { projectId, environment } }: RunFold['head']) => ({ projectId, environment });

type Refused = Extract<ChildEnd, { status: 'refused' }> & { readonly kind: 'refused' };

const refused = (cause: Failure['cause'], code: string, message: string, errors?: JsonValue): Refused => ({
  kind: 'refused',
  status: 'refused',
  error: defined({ cause, code, message, details: errors === undefined ? undefined : { errors } }),
});

async function resolve(
  decider: Decider,
  scope: RunFold['head']['address'],
  { workflowName: name, version }: ChildWait,
  input: JsonValue,
): Promise<Resolved | Refused> {
  if (!workflowNamePattern.test(name))
    return refused('invalid', 'subflow_invalid', `${JSON.stringify(name)} is no name of a workflow`);
  const found =
    version === undefined
      ? await resolveStart(decider, { scope, workflowName: workflowName(name), input })
      : await resolveVersion(decider, scope, { name: workflowName(name), version }, input);
  switch (found.kind) {
    case 'found':
      return found;
    case 'input_invalid': {
      const errors = found.errors.map((inputError) => ({ ...inputError }));
      return refused('invalid', found.kind, `the workflow ${name} does not take this input`, errors);
    }
    case 'no_active_deployment':
    case 'deployment_not_found':
    case 'deployment_not_verified':
      // Of code, which may be deployed at any moment: worth another attempt.
      return refused('error', found.kind, `there is no workflow ${name}, and no active deployment that has it`);
    case 'workflow_not_found':
      return refused(
        'invalid',
        found.kind,
        `there is no workflow ${name}${version === undefined ? '' : ` of version ${version}`}`,
      );
    case 'workflow_archived':
      return refused('invalid', found.kind, `the workflow ${name} is archived`);
    case 'workflow_deleting':
      return refused('invalid', found.kind, `the workflow ${name} is being deleted`);
  }
}

async function resolveVersion(
  { deps, plans }: Decider,
  scope: RunFold['head']['address'],
  pinned: { readonly name: WorkflowName; readonly version: number },
  input: JsonValue,
) {
  const summary = await deps.workflows.summary(scope, pinned.name);
  if (summary === undefined || !hasVersion(summary, pinned.version)) return { kind: 'workflow_not_found' as const };
  // An archived workflow's versions can still be called by their number.
  if (summary.deletingSince !== undefined) return { kind: 'workflow_deleting' as const };
  const version = await plans.version(deps, scope, pinned);
  if (version === undefined) return { kind: 'workflow_not_found' as const };
  const checkedInput = validateInput(version.options.args, input);
  return checkedInput.kind === 'refused'
    ? { kind: 'input_invalid' as const, errors: checkedInput.errors }
    : { kind: 'found' as const, version, input: checkedInput.input };
}
