/**
 * Checks the inputs of graph nodes from the log alone; each simulated node returns a digest of its inputs. A node sees the
 * context as of its dispatch, or as of its end if its parent's commit decides it. Its inputs are the values of the edges that
 * were taken, merged as the definition says. It uses no code of lib/engine/graph (docs/NODES.md).
 */
import type { EdgeDefinition, MergeStrategy, NodeDefinition, WorkflowVersion } from '../../lib/engine/graph/definition.ts';
import { type RunAddress, topLevel } from '../../lib/engine/ids.ts';
import type { JsonObject, JsonValue, Payload, PayloadRef } from '../../lib/engine/json.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import type { MemoryPorts } from '../../lib/memory/memory-ports.ts';
import { loadPayload } from '../../lib/service/run-log/payloads.ts';
import { digestOf } from './node-input-digest.ts';
import { runInvariant } from './violation.ts';

/** The items of a loop and the name of its item variable. */
interface Loop {
  readonly items: readonly JsonValue[];
  readonly itemVariable: string;
  readonly indexVariable: string;
}

interface Ended {
  readonly status: string;
  readonly output: JsonValue;
  readonly handle: string | null;
}

type NodeEvent = Extract<RunEvent, { nodeId: unknown; iteration: unknown }>;
type Completed = Extract<RunEvent, { type: 'NODE_COMPLETED' }>;
type Load = (ref: PayloadRef) => Promise<JsonValue>;

export class NodeInputChecker {
  /** nodes whose output was the expected digest */
  judged = 0;

  /** @param versionOf what a run is of, where it is of a graph */
  async check(
    { log, blobs, clock }: Pick<MemoryPorts, 'log' | 'blobs' | 'clock'>,
    runs: readonly { readonly address: RunAddress }[],
    versionOf: (run: RunAddress) => Promise<WorkflowVersion | undefined>,
  ): Promise<void> {
    for (const { address } of runs) {
      const version = await versionOf(address);
      const head = await log.head(address);
      if (version === undefined || head === undefined) continue;
      const commits = [head.commit, ...(await log.commitsAfter(address, head.commit.number))];
      const values = await loadedFrom(commits, (ref) => loadPayload({ log, blobs, clock }, address, ref));
      const check = new RunGiven(address.runId, version, values);
      for (const { events } of commits) for (const event of events) check.saw(event);
      this.judged += check.judged;
    }
  }
}

class RunGiven {
  judged = 0;
  readonly #runId: string;
  readonly #nodes: ReadonlyMap<string, NodeDefinition>;
  readonly #edges: readonly EdgeDefinition[];
  readonly #values: ReadonlyMap<PayloadRef, JsonValue>;
  /** by iteration, and within it by key */
  readonly #written = new Map<string, Map<string, JsonValue>>();
  readonly #ended = new Map<string, Map<string, Ended>>();
  readonly #loops = new Map<string, Loop>();
  /** the expected output of a dispatched node */
  readonly #due = new Map<string, number>();

  constructor(runId: string, { nodes, edges }: WorkflowVersion, values: ReadonlyMap<PayloadRef, JsonValue>) {
    this.#runId = runId;
    this.#nodes = new Map(nodes.map((node) => [node.id, node]));
    this.#edges = edges;
    this.#values = values;
  }

  saw(event: RunEvent): void {
    if (event.type === 'INPUT_SET') this.#write(topLevel, 'input', this.#valueOf(event.input));
    if (event.type === 'SYSTEM_SET') this.#write(topLevel, event.key, this.#valueOf(event.value));
    if ('nodeId' in event) this.#node(event);
  }

  #node(event: NodeEvent): void {
    const { nodeId, iteration } = event;
    const key = `${nodeId}@${iteration}`;
    switch (event.type) {
      case 'NODE_DISPATCHED':
        this.#due.set(key, this.#answerOf(nodeId, iteration));
        break;
      case 'LOOP_STARTED': {
        const items = event.pages.flatMap((page) => listOf(this.#valueOf(page)));
        this.#loops.set(key, { items, itemVariable: event.itemVariable, indexVariable: event.indexVariable });
        break;
      }
      case 'NODE_COMPLETED': {
        const output = this.#valueOf(event.output);
        this.#check(event, output);
        this.#end(event, { status: 'completed', output, handle: event.handle });
        if (event.variable !== undefined) this.#write(iteration, event.variable, output);
        break;
      }
      case 'NODE_FAILED': {
        const { cause, message } = event.failure;
        this.#end(event, { status: cause === 'timeout' ? 'timed_out' : 'failed', output: null, handle: null });
        const error = { cause, message, attempts: event.attempt };
        if (event.variable !== undefined) this.#write(iteration, event.variable, { success: false, error });
        break;
      }
      case 'NODE_SKIPPED':
        this.#end(event, { status: 'skipped', output: null, handle: null });
        break;
      case 'ITERATION_ENDED':
        this.#forget(passOf(nodeId, iteration, event.index));
        break;
      default:
        break;
    }
  }

  #check({ nodeId, iteration, isPinned }: Completed, output: JsonValue): void {
    const node = this.#nodes.get(nodeId);
    if (node === undefined || isPinned === true || isDisabled(node)) return;
    const answer = node.type === 'work' ? output : node.type === 'end' ? Object(output).given : undefined;
    if (answer === undefined) return;
    const due = node.type === 'work' ? this.#due.get(`${nodeId}@${iteration}`) : this.#answerOf(nodeId, iteration);
    runInvariant(4, answer === due, `${this.#runId}: ${nodeId}@${iteration} received other inputs than its log and graph define`);
    this.judged += 1;
  }

  #end({ nodeId, iteration }: NodeEvent, ended: Ended): void {
    const inPass = this.#ended.get(iteration) ?? new Map<string, Ended>();
    this.#ended.set(iteration, inPass.set(nodeId, ended));
    this.#loops.delete(`${nodeId}@${iteration}`);
    for (const pass of this.#ended.keys()) if (isInside(pass, nodeId, iteration)) this.#forget(pass);
  }

  #forget(pass: string): void {
    for (const known of [this.#written, this.#ended])
      for (const each of known.keys()) if (each === pass || each.startsWith(`${pass}/`)) known.delete(each);
  }

  #write(iteration: string, key: string, value: JsonValue): void {
    const inPass = this.#written.get(iteration) ?? new Map<string, JsonValue>();
    this.#written.set(iteration, inPass.set(key, value));
  }

  #answerOf(nodeId: string, iteration: string): number {
    const node = this.#nodes.get(nodeId);
    if (node === undefined) return Number.NaN;
    return digestOf({ inputs: this.#inputsOf(node, iteration), context: this.#contextOf(iteration) });
  }

  /** A write in an inner iteration hides an outer one, and a write in an iteration hides the iteration's item. */
  #contextOf(iteration: string): JsonObject {
    const context: Record<string, JsonValue> = {};
    for (const scope of inwards(iteration)) {
      const pass = lastPassOf(scope);
      const loop = pass === undefined ? undefined : this.#loops.get(`${pass.loop}@${pass.around}`);
      if (pass !== undefined && loop !== undefined) {
        context[loop.itemVariable] = loop.items[pass.index] ?? null;
        context[loop.indexVariable] = pass.index;
      }
      for (const [key, value] of this.#written.get(scope) ?? []) context[key] = value;
      for (const [id, { status, output }] of this.#ended.get(scope) ?? []) context[`__node_${id}`] = { status, output };
    }
    return context;
  }

  #inputsOf(node: NodeDefinition, iteration: string): JsonObject {
    const own = this.#written.get(topLevel)?.get('input');
    const inputs: Record<string, JsonValue> = isObject(own) ? { ...own } : {};
    const inbound = this.#edges.filter((edge) => edge.target === node.id && edge.targetParamLabel !== undefined);
    const { merge = 'last_write_wins', onParentFailure } = policyOf(node);
    for (const label of new Set(inbound.map((edge) => edge.targetParamLabel ?? ''))) {
      const edges = inbound.filter((edge) => edge.targetParamLabel === label);
      const said = edges.find((edge) => edge.mergeStrategy !== undefined)?.mergeStrategy;
      const brought = edges.flatMap((edge) => this.#broughtBy(edge, iteration));
      if (brought.length > 0) inputs[label] = merged(said ?? (edges.length > 1 ? merge : 'last_write_wins'), brought);
      else if (onParentFailure === 'substitute_default') inputs[label] = '';
    }
    return inputs;
  }

  #broughtBy({ source, sourceHandle = 'output' }: EdgeDefinition, iteration: string): readonly Brought[] {
    if (sourceHandle === 'loop') {
      const pass = lastPassOf(iteration);
      const loop = pass === undefined ? undefined : this.#loops.get(`${pass.loop}@${pass.around}`);
      return pass === undefined ? [] : [{ source, value: { item: loop?.items[pass.index] ?? null, index: pass.index } }];
    }
    const ended = this.#ended.get(iteration)?.get(source);
    return ended?.status === 'completed' && ended.handle === sourceHandle ? [{ source, value: ended.output }] : [];
  }

  #valueOf(payload: Payload): JsonValue {
    if ('value' in payload) return payload.value;
    return this.#values.get(payload.ref) ?? null;
  }
}

interface Brought {
  readonly source: string;
  readonly value: JsonValue;
}

function merged(strategy: MergeStrategy, brought: readonly Brought[]): JsonValue {
  const values = brought.map(({ value }) => value);
  if (strategy === 'array') return values;
  if (strategy === 'json_object') return Object.fromEntries(brought.map(({ source, value }) => [source, value]));
  if (strategy === 'concat') return values.map(spelled).join('\n\n');
  return values.at(-1) ?? null;
}

const spelled = (value: JsonValue): string => (typeof value === 'string' ? value : value === null ? '' : JSON.stringify(value));

interface DrawnPolicy {
  readonly merge?: MergeStrategy;
  readonly onParentFailure?: string;
  readonly isDisabled?: boolean;
}
const policyOf = (node: NodeDefinition): DrawnPolicy => Object(node.config['policy'] ?? {});
const isDisabled = (node: NodeDefinition): boolean => policyOf(node).isDisabled === true;

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const listOf = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : []);

const passOf = (loop: string, around: string, index: number): string =>
  `${around === topLevel ? '' : `${around}/`}${loop}[${index}]`;
const isInside = (pass: string, loop: string, around: string): boolean =>
  pass.startsWith(`${around === topLevel ? '' : `${around}/`}${loop}[`);

/** The iterations from the run to the innermost one. */
const inwards = (iteration: string): readonly string[] =>
  iteration === topLevel
    ? [topLevel]
    : [topLevel, ...iteration.split('/').map((_, depth, all) => all.slice(0, depth + 1).join('/'))];

/** The loop of the iteration, its parent iteration, and its index. */
function lastPassOf(iteration: string): { readonly loop: string; readonly around: string; readonly index: number } | undefined {
  const [, around = '', loop = '', index] = /^(?:(.*)\/)?([^/[]+)\[(\d+)\]$/.exec(iteration) ?? [];
  return index === undefined ? undefined : { loop, around: around === '' ? topLevel : around, index: Number(index) };
}

/** All offloaded values of the log. */
async function loadedFrom(commits: readonly Commit[], load: Load): Promise<ReadonlyMap<PayloadRef, JsonValue>> {
  const refs = new Set<PayloadRef>();
  for (const { events } of commits) {
    for (const event of events) {
      if (event.type === 'INPUT_SET') addRef(refs, event.input);
      if (event.type === 'SYSTEM_SET') addRef(refs, event.value);
      if (event.type === 'NODE_COMPLETED') addRef(refs, event.output);
      if (event.type === 'LOOP_STARTED') for (const page of event.pages) addRef(refs, page);
    }
  }
  const values = new Map<PayloadRef, JsonValue>();
  for (const ref of refs) values.set(ref, await load(ref));
  return values;
}

const addRef = (refs: Set<PayloadRef>, payload: Payload): void => {
  if ('ref' in payload) refs.add(payload.ref);
};
