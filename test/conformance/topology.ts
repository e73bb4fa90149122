/**
 * A topology: a small workflow of the product's node types, the results of its attempts, and the external requests in between.
 * `golden/<name>.json` has its list of public events. A topology also checks the property in its description, so that a wrong
 * golden list cannot hide an error.
 */
import type { EdgeDefinition, NodeDefinition, WorkflowDefinition, WorkflowOptions } from '../../lib/engine/graph/definition.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import { type JsonObject, type JsonValue, inline } from '../../lib/engine/json.ts';
import type { FailureCause } from '../../lib/engine/retry.ts';
import type { DurationMs } from '../../lib/engine/time.ts';
import type { Lens } from '../../lib/ports/lenses.ts';
import type { ModelResponse } from '../../lib/ports/models.ts';
import type { RunActions } from './run-actions.ts';
import type { RunRecord } from './run-record.ts';

/** The inputs of an attempt and its actions. */
interface ReplyContext {
  readonly inputs: JsonObject;
  /** of the loops around it, such as `orders[0]/lines[3]`; empty outside all */
  readonly iteration: string;
  readonly actions: RunActions;
  /** lets that much time pass, or less if the attempt is aborted */
  readonly lasts: (time: DurationMs) => Promise<void>;
}

export type Reply = Outcome | ((moment: ReplyContext) => Outcome | Promise<Outcome>);

export interface TopologyEdge extends Omit<EdgeDefinition, 'source' | 'target'> {
  /** `'a -> b'` */
  readonly from: string;
}

/** The graph of a workflow. */
export interface TopologyGraph {
  readonly name: string;
  /** `'a -> b -> c'`; `'check/yes -> b'` leaves by the handle `yes` */
  readonly edges: readonly (string | TopologyEdge)[];
  /** settings by node: type, label, and the rest is its config; a node without settings is a script */
  readonly nodes?: Readonly<Record<string, JsonObject>>;
  readonly options?: WorkflowOptions;
}

export interface Topology extends TopologyGraph {
  /** the property that must hold, in one sentence */
  readonly description: string;
  /** child workflows, published before the start; their nodes have other ids */
  readonly calls?: readonly TopologyGraph[];
  /** lenses, published before the start; a lens node runs with a scripted model */
  readonly lenses?: readonly Lens[];
  /** by lens node: the model's answer to each attempt; the last one repeats */
  readonly answers?: Readonly<Record<string, readonly ModelResponse[]>>;
  readonly input?: JsonValue;
  /** by node: the reply of each attempt; the last one repeats; absent: completes with its own id */
  readonly replies?: Readonly<Record<string, Reply | readonly Reply[]>>;
  /** absent: the run starts, and all due messages are delivered until none is left */
  readonly actions?: (actions: RunActions) => Promise<void>;
  /** checks the property */
  readonly verify: (story: RunRecord) => void;
}

export const definitionOf = ({ name, edges, nodes = {}, options = {} }: TopologyGraph): WorkflowDefinition => {
  const drawn = edges.flatMap(readEdge);
  const ids = [...new Set([...drawn.flatMap(({ source, target }) => [source, target]), ...Object.keys(nodes).map(nodeId)])];
  return { name: workflowName(name), nodes: ids.map((id) => nodeOf(id, nodes[id] ?? {})), edges: drawn, options };
};

const nodeOf = (id: NodeDefinition['id'], { type, label, ...config }: JsonObject): NodeDefinition => {
  const kind = typeof type === 'string' ? type : typeByName(id);
  const code: JsonObject = kind === 'javascript' ? { code: 'return null' } : {};
  return { id, type: kind, config: { ...code, ...config }, ...(typeof label === 'string' ? { label } : {}) };
};

const typeByName = (id: string): string => (id === 'start' ? 'start' : id.startsWith('end') ? 'end' : 'javascript');

/** A handle belongs to the node before its arrow. */
const readEdge = (edge: string | TopologyEdge): readonly EdgeDefinition[] => {
  const { from, ...rest } = typeof edge === 'string' ? { from: edge } : edge;
  const stops = from.split(' -> ').map((stop) => {
    const [id = '', handle] = stop.split('/');
    return { id: nodeId(id), ...(handle === undefined ? {} : { sourceHandle: handle }) };
  });
  return stops.slice(1).flatMap(({ id: target }, index) => {
    const stop = stops[index];
    if (stop === undefined) return [];
    const { id: source, ...handle } = stop;
    return [{ ...rest, ...handle, source, target }];
  });
};

/** `count` names: `a0`, `a1` … */
export const names = (count: number, prefix: string): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

export const finishedWith = (output: JsonValue): Outcome => ({ kind: 'finished', output: inline(output), handle: 'output' });

export const failedWith = (cause: FailureCause = 'error', retryAfterMs?: DurationMs): Outcome => ({
  kind: 'failed',
  failure: { cause, message: 'on purpose' },
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

/** An attempt that returns its inputs. */
export const returnsInputs: Reply = ({ inputs }) => finishedWith(inputs);

export const takes =
  (time: DurationMs, then: Outcome = finishedWith('in the end')): Reply =>
  async ({ lasts }) => {
    await lasts(time);
    return then;
  };

/** Settings of a node with one attempt. */
export const singleAttempt: JsonObject = { retry: { attempts: 1 } };

/** A condition that takes the branch named by the run's input `key`, or else `default`. */
export const choice = (key: string, ...branches: readonly string[]): JsonObject => ({
  type: 'condition',
  branches: branches.map((id) => ({
    id,
    label: id,
    conditions: [{ leftValue: `{{ctx.input.${key}}}`, operator: 'equals', rightValue: id }],
  })),
});
