/** Fixture: inputs and tools of nodes. */
import type { ContextView } from '../../lib/engine/graph/context.ts';
import { NodeWork } from '../../lib/engine/graph/work-limits.ts';
import type { NodeInput, PlanNode } from '../../lib/engine/graph/plan.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import { environment, firstAttempt, nodeId, projectId, topLevel } from '../../lib/engine/ids.ts';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { type DurationMs, instant, seconds } from '../../lib/engine/time.ts';
import { SecretUse } from '../../lib/nodes/secret-use.ts';
import { findingsOf, evaluatePure, policyOf, termsOf } from '../../lib/nodes/catalogue.ts';

export const contextOf = (values: JsonObject): ContextView => {
  const keys = (options?: { readonly hidden: boolean }) =>
    Object.keys(values).filter((key) => options?.hidden === true || !key.startsWith('__'));
  return {
    work: new NodeWork(),
    get: (key) => (Object.hasOwn(values, key) ? values[key] : undefined),
    keys,
    all: (options) =>
      Object.fromEntries(
        keys(options)
          .filter((key) => options?.names?.has(key) ?? true)
          .map((key) => [key, values[key] ?? null]),
      ),
  };
};

export const inputOf = (context: JsonObject = {}, inputs: JsonObject = {}): NodeInput => ({
  context: contextOf(context),
  inputs,
  iteration: topLevel,
});

/** Project and environment of the nodes. */
const scope = { projectId: projectId('acme'), environment: environment('test') };

export const toolsOf = (timeoutMs: DurationMs = seconds(30), signal = new AbortController().signal) => ({
  scope,
  query: async () => ({ kind: 'unknown' as const }),
  secrets: new SecretUse(async () => ({ kind: 'not_allowed' })),
  signal,
  timeoutMs,
  token: 'run/node/1',
  number: firstAttempt,
});

export const planNode = (type: string, config: JsonObject): PlanNode => ({
  id: nodeId('n'),
  type,
  config,
  inbound: [],
  isLoop: false,
  outbound: [],
  wave: 0,
  ...termsOf({ id: nodeId('n'), type, config }),
});

/** 2026-11-20T12:00:00Z */
export const noon = instant(Date.UTC(2026, 10, 20, 12));

export const decided = (type: string, config: JsonObject, context: JsonObject = {}): Outcome =>
  evaluatePure(planNode(type, config), inputOf(context), noon);

/** The findings as `code pointer`, which callers depend on. */
export const found = (type: string, config: JsonObject): readonly string[] =>
  findingsOf({ id: nodeId('n'), type, config }, '/nodes/0').map(({ code, pointer }) => `${code} ${pointer}`);

export const policyFor = (config: JsonObject, type = 'start') => policyOf({ type, config });

/** The inline output of an outcome. */
export const outputOf = (outcome: Outcome): JsonValue =>
  'output' in outcome && 'value' in outcome.output ? outcome.output.value : null;
