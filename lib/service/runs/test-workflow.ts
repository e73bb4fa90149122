/**
 * Starts a test run of an unpublished graph. The graph is validated like a publication and stored with the run. Otherwise a test run is
 * a normal run, with a shorter deadline and retention.
 */
import { defined } from '../../base/defined.ts';
import type { UnsavedGraph } from '../../codec/definition.ts';
import { type InputError, validateInput } from '../../engine/graph/validate-input.ts';
import type { Finding, WorkflowDefinition } from '../../engine/graph/definition.ts';
import { hasErrors } from '../../engine/graph/findings.ts';
import type { InspectNode } from '../../engine/graph/inspection.ts';
import { type PinnedOutputs, checkPinnedOutputs } from '../../engine/graph/pinned-outputs.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type BeginResult, type BeginRequest, beginRun } from './begin-run.ts';
import type { Resolved } from '../new-run.ts';
import type { Decider } from '../decider.ts';
import { checkDefinition, checkStoredSize } from '../definitions/check-definition.ts';

export interface TestRequest extends Pick<BeginRequest, 'scope' | 'bodyHash' | 'trace'> {
  readonly definition: WorkflowDefinition;
  readonly pinned: PinnedOutputs;
  readonly input?: JsonValue;
  /** absent: each request starts a new run */
  readonly idempotencyKey?: string;
}

type TestRefusal =
  | { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] }
  | { readonly kind: 'input_invalid'; readonly errors: readonly InputError[] };

export type TestResult = BeginResult | TestRefusal;

/** The endpoint of a test's idempotency key. */
export const testEndpoint = 'POST /v1/workflows/test';

export function testWorkflow(decider: Decider, request: TestRequest, inspect: InspectNode): Promise<TestResult> {
  const { scope, bodyHash, trace, definition, pinned, idempotencyKey = decider.deps.ids.nonce() } = request;
  const unsaved: UnsavedGraph = { definition, pinned, startIdempotencyKey: idempotencyKey };
  const startRequest = defined({ scope, bodyHash, idempotencyKey, endpoint: testEndpoint, trace });
  return beginRun(decider, startRequest, async () => resolve(unsaved, request.input, inspect));
}

function resolve(unsaved: UnsavedGraph, input: JsonValue | undefined, inspect: InspectNode): Resolved | TestRefusal {
  const { definition, pinned } = unsaved;
  const findings = [...checkDefinition(definition, inspect), ...checkPinnedOutputs(definition, pinned, inspect)];
  const allFindings = hasErrors(findings) ? findings : [...findings, ...checkStoredSize(unsaved)];
  if (hasErrors(allFindings)) return { kind: 'definition_invalid', findings: allFindings };
  const checkedInput = validateInput(definition.options.args, input);
  if (checkedInput.kind === 'refused') return { kind: 'input_invalid', errors: checkedInput.errors };
  return { kind: 'found', version: { ...definition, version: 0 }, input: checkedInput.input, unsaved };
}
