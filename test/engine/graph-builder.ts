/**
 * Graphs for tests, one line per path: `'start -> a -> join'`, `'check/yes -> b'` (by the handle `yes`). A node that is only named
 * in an edge is an ordinary one: a worker runs it, one attempt, no output variable.
 */
import { compile } from '../../lib/engine/graph/compile.ts';
import type { EdgeDefinition, NodeDefinition, WorkflowOptions } from '../../lib/engine/graph/definition.ts';
import type { Outcome } from '../../lib/engine/graph/outcome.ts';
import type { EvaluatePure, NodeInput, NodePolicy, Plan } from '../../lib/engine/graph/plan.ts';
import { nodeId, workflowName } from '../../lib/engine/ids.ts';
import { type JsonValue, inline } from '../../lib/engine/json.ts';
import type { FailureCause, RetryPolicy } from '../../lib/engine/retry.ts';
import { type DurationMs, type Instant, durationMs, seconds } from '../../lib/engine/time.ts';

/** What a pure node answers. */
type Script = Outcome | ((input: NodeInput, now: Instant) => Outcome);

export interface NodeTraits extends Partial<NodePolicy> {
  readonly label?: string;
  readonly recordsStart?: boolean;
  /** makes the node a loop over these items; a body lies behind its handle `loop` */
  readonly loop?: Partial<Expanding> & { readonly over?: JsonValue };
  /** makes the node a pure one, decided in the commit that makes it ready */
  readonly pure?: Script;
  /** of an end: it ends the run */
  readonly endsRun?: true;
}

export interface EdgeSpec extends Omit<EdgeDefinition, 'source' | 'target'> {
  /** `'a -> b'` or `'a/handle -> b'` */
  readonly from: string;
}

export interface GraphSpec {
  readonly nodes?: Readonly<Record<string, NodeTraits>>;
  readonly edges?: readonly (string | EdgeSpec)[];
  readonly options?: WorkflowOptions;
}

export interface Graph {
  readonly plan: Plan;
  readonly evaluate: EvaluatePure;
}

export const noRetry: RetryPolicy = {
  attempts: 1,
  backoffMs: seconds(1),
  maxBackoffMs: seconds(8),
  retryOn: ['error', 'timeout', 'provider_error', 'rate_limit'],
  jitter: 'none',
};

export const threeAttempts: RetryPolicy = { ...noRetry, attempts: 3 };

const ordinary: NodePolicy = {
  joinMode: 'all',
  errorHandling: 'continue',
  onParentFailure: 'skip',
  merge: 'last_write_wins',
  retry: noRetry,
  timeoutMs: seconds(30),
  isDisabled: false,
};

export const graph = ({ nodes = {}, edges = [], options = {} }: GraphSpec): Graph => {
  const edgeDefinitions = edges.flatMap(readEdge);
  const ids = new Set([...Object.keys(nodes), ...edgeDefinitions.flatMap(({ source, target }) => [source, target])]);
  const definitions = [...ids].map((id): NodeDefinition => {
    const label = nodes[id]?.label;
    return { id: nodeId(id), type: 'test', config: {}, ...(label === undefined ? {} : { label }) };
  });
  const plan = compile(
    { name: workflowName('drawn'), version: 1, options, nodes: definitions, edges: edgeDefinitions },
    ({ id }) => {
      const { label: _label, recordsStart = false, pure, loop, endsRun, ...policy } = nodes[id] ?? {};
      const isLoop = loop !== undefined;
      const ending = endsRun === undefined ? {} : { endsRun };
      return { policy: { ...ordinary, ...policy }, isPure: isLoop || pure !== undefined, recordsStart, isLoop, ...ending };
    },
  );
  const evaluate: EvaluatePure = (node, input, now) => {
    const { pure: script, loop } = nodes[node.id] ?? {};
    if (loop !== undefined) return expands(loop);
    if (script === undefined) throw new Error(`${node.id} is not pure, but the engine evaluated it`);
    return typeof script === 'function' ? script(input, now) : script;
  };
  return { plan, evaluate };
};

/** `'a -> b -> c'` is two edges; a handle belongs to the node before its arrow. */
const readEdge = (edge: string | EdgeSpec): readonly EdgeDefinition[] => {
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

type Expanding = Extract<Outcome, { kind: 'expanding' }>;

const expands = ({ over = [], ...terms }: Partial<Expanding> & { readonly over?: JsonValue } = {}): Outcome => ({
  kind: 'expanding',
  itemVariable: 'item',
  indexVariable: 'index',
  concurrency: 1,
  delayMs: durationMs(0),
  onItemFailure: 'fail',
  items: inline(over),
  ...terms,
});

export const finished = (output: JsonValue = null, handle: string | null = 'output'): Outcome => ({
  kind: 'finished',
  output: inline(output),
  handle,
});

export const ends = (output: JsonValue = {}, end: 'success' | 'error' = 'success'): Outcome => ({
  kind: 'finished',
  output: inline(output),
  handle: null,
  end,
});

export const failed = (cause: FailureCause = 'error', retryAfterMs?: DurationMs): Outcome => ({
  kind: 'failed',
  failure: { cause, message: `it broke: ${cause}` },
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
});

export const sleepsUntil = (wakeAt: Instant, output: JsonValue = null): Outcome => ({
  kind: 'sleeping',
  wakeAt,
  output: inline(output),
});

export const awaits = (more: Partial<Extract<Outcome, { kind: 'awaiting' }>> = {}): Outcome => ({
  kind: 'awaiting',
  name: 'paid',
  ...more,
});

export const calls = (more: Partial<Extract<Outcome, { kind: 'calling' }>> = {}): Outcome => ({
  kind: 'calling',
  workflowName: 'ship',
  input: inline({ order: 7 }),
  parentClosePolicy: 'cancel',
  onChildCancelled: 'fail',
  ...more,
});

/** A pure node that passes on at once, as a start node does. */
export const completesAtOnce: NodeTraits = { pure: finished() };

/** `count` names: `a0`, `a1` … */
export const names = (count: number, prefix: string): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

export const ms = durationMs;
