/**
 * A test run: of a graph that nobody has published. It is judged as a publication is; then the run carries the graph itself,
 * and everything else is as with any other run, but that it is over and forgotten within days.
 */
import type { UnsavedGraph } from '../codec/definition.ts';
import { type InputFault, acceptInput } from '../engine/graph/arguments.ts';
import type { Finding, WorkflowDefinition } from '../engine/graph/definition.ts';
import { hasErrors } from '../engine/graph/findings.ts';
import type { InspectNode } from '../engine/graph/inspection.ts';
import { type Pins, checkPins } from '../engine/graph/pins.ts';
import type { JsonValue } from '../engine/json.ts';
import { type BeginAnswer, type BeginRequest, type Resolved, beginRun } from './begin-run.ts';
import type { Decider } from './decide-run.ts';
import { judgeDefinition, storedSize } from './judge-definition.ts';

export interface TestRequest extends Pick<BeginRequest, 'scope' | 'bodyHash' | 'trace'> {
  readonly definition: WorkflowDefinition;
  readonly pinned: Pins;
  readonly input?: JsonValue;
  /** absent: each request is a run of its own */
  readonly idempotencyKey?: string;
}

type TestRefusal =
  | { readonly kind: 'definition_invalid'; readonly findings: readonly Finding[] }
  | { readonly kind: 'input_invalid'; readonly faults: readonly InputFault[] };

export type TestAnswer = BeginAnswer | TestRefusal;

/** The endpoint under which a test's key is remembered. */
export const testEndpoint = 'POST /v1/workflows/test';

export function testWorkflow(decider: Decider, request: TestRequest, inspect: InspectNode): Promise<TestAnswer> {
  const { scope, bodyHash, trace, definition, pinned, idempotencyKey = decider.deps.ids.nonce() } = request;
  const unsaved: UnsavedGraph = { definition, pinned, reservedUnder: idempotencyKey };
  const asked = { scope, bodyHash, idempotencyKey, endpoint: testEndpoint, ...(trace === undefined ? {} : { trace }) };
  return beginRun(decider, asked, async () => resolve(unsaved, request.input, inspect));
}

function resolve(unsaved: UnsavedGraph, input: JsonValue | undefined, inspect: InspectNode): Resolved | TestRefusal {
  const { definition, pinned } = unsaved;
  const findings = [...judgeDefinition(definition, inspect), ...checkPins(definition, pinned, inspect)];
  const sized = hasErrors(findings) ? findings : [...findings, ...storedSize(unsaved)];
  if (hasErrors(sized)) return { kind: 'definition_invalid', findings: sized };
  const verdict = acceptInput(definition.options.args, input);
  if (verdict.kind === 'refused') return { kind: 'input_invalid', faults: verdict.faults };
  return { kind: 'found', version: { ...definition, version: 0 }, input: verdict.input, unsaved };
}
