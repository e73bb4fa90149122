/** What a node saw when it was dispatched: its config after templates, the values of its edges, and the context. */
import { contextAt } from '../../engine/graph/context.ts';
import { nodeInputOf } from '../../engine/graph/inputs.ts';
import { ContextTooLarge, payloadLimits } from '../../engine/graph/payload-limits.ts';
import type { Plan, PlanNode } from '../../engine/graph/plan.ts';
import { resolveTemplate, secretsOf } from '../../engine/graph/template.ts';
import { WorkLimitExceeded } from '../../engine/graph/work-limits.ts';
import type { NodeRef, RunAddress } from '../../engine/ids.ts';
import type { JsonObject, JsonValue, Payload } from '../../engine/json.ts';
import type { RunState } from '../../engine/log/fold.ts';
import type { Deps } from '../deps.ts';
import { loadPayload, withPayloads } from '../run-log/payloads.ts';
import type { ShownValue } from './get-run.ts';

/** What the values of a response may still take. */
export interface ByteBudget {
  bytes: number;
}

function shownWithin(budget: ByteBudget, value: JsonValue): ShownValue {
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes > budget.bytes) return { omittedBytes: bytes };
  budget.bytes -= bytes;
  return { value };
}

type PayloadDeps = Pick<Deps, 'blobs' | 'clock' | 'log'>;

export async function shownPayload(
  deps: PayloadDeps,
  run: RunAddress,
  payload: Payload,
  budget: ByteBudget,
): Promise<ShownValue> {
  if ('value' in payload) return shownWithin(budget, payload.value);
  if (payload.bytes > budget.bytes) return { omittedBytes: payload.bytes };
  return shownWithin(budget, await loadPayload(deps, run, payload.ref));
}

export interface DispatchedNode {
  readonly plan: Plan;
  readonly node: PlanNode;
  readonly ref: NodeRef;
  /** as it was before the dispatch */
  readonly state: RunState;
  /** the keys of the config in which `{{` begins a template */
  readonly templateKeys: readonly string[];
}

/** In the order in which a reader needs them: what does not fit the response any more is omitted. */
export async function seenByNode(deps: PayloadDeps, run: RunAddress, dispatched: DispatchedNode, budget: ByteBudget) {
  const { plan, node, ref, state, templateKeys } = dispatched;
  const read = async (compute: (loaded: Parameters<typeof nodeInputOf>[5]) => JsonValue): Promise<ShownValue> => {
    try {
      return shownWithin(budget, await withPayloads(deps, run, compute));
    } catch (error) {
      if (error instanceof ContextTooLarge || error instanceof WorkLimitExceeded)
        return { omittedBytes: payloadLimits.contextBytes };
      throw error;
    }
  };
  const config = await read((loaded) => {
    const context = contextAt(state, ref.iteration, state.nextEventId, loaded);
    const secrets = new Map(secretsOf(node.config).map(({ name }) => [name, `{{secret:${name}}}`]));
    const entries = Object.entries(node.config);
    return Object.fromEntries(
      entries.map(([key, value]) => [key, templateKeys.includes(key) ? resolveTemplate(value, context, secrets) : value]),
    ) satisfies JsonObject;
  });
  const inputs = await read((loaded) => nodeInputOf(plan, node, ref.iteration, state, state.nextEventId, loaded).inputs);
  const context = await read((loaded) => contextAt(state, ref.iteration, state.nextEventId, loaded).all());
  return { config, inputs, context };
}
