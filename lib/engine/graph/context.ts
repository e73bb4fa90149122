/**
 * The context that templates and scripts see as `ctx`, as of one event of the log. Offloaded values are read from those already
 * loaded; for a missing one the read throws, and the caller loads it and tries again.
 */
import { type EventId, type IterationKey, nodeId, nodeIdPattern, nodeKey, enclosingIterations, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type JsonObject, type JsonValue, type PayloadRef, type Payload, isJsonArray } from '../json.ts';
import type { RunState, ContextWrite } from '../log/fold.ts';
import type { LoopState, LoopIteration } from '../log/node-state.ts';
import { ContextTooLarge, payloadLimits } from './payload-limits.ts';
import { NodeWork } from './work-limits.ts';

export interface ContextView {
  /** counts the work of reads and of the texts made from them, for the whole node */
  readonly work: NodeWork;
  /** One top-level key of the context; undefined if it is not written yet. */
  get(key: string): JsonValue | undefined;
  /** The keys written so far; with `hidden`, those that start with `__` too. */
  keys(options?: { readonly hidden: boolean }): readonly string[];
  /**
   * The whole context as one object; with `hidden`, the keys that start with `__` too; with `names`, only these.
   * @throws PayloadsNeeded, ContextTooLarge
   */
  all(options?: { readonly hidden: boolean; readonly names?: ReadonlySet<string> }): JsonObject;
}

/** Names the offloaded values that must be loaded before the read can be repeated. The service catches it. */
export class PayloadsNeeded extends Error {
  override readonly name = 'PayloadsNeeded';
  readonly refs: readonly PayloadRef[];
  constructor(refs: readonly PayloadRef[]) {
    super(`offloaded values must be loaded first: ${refs.join(', ')}`);
    this.refs = refs;
  }
}

export type LoadedPayloads = ReadonlyMap<PayloadRef, JsonValue>;

/** The value of a payload; throws `PayloadsNeeded` if it is offloaded and not loaded. */
export const valueOf = (payload: Payload, loaded: LoadedPayloads): JsonValue => {
  if ('value' in payload) return payload.value;
  const value = loaded.get(payload.ref);
  if (value === undefined) throw new PayloadsNeeded([payload.ref]);
  return value;
};

/** Performs all reads, or throws one `PayloadsNeeded` for everything that is missing: each round costs one load. */
export function readAll<Value>(reads: readonly (() => Value)[]): readonly Value[] {
  const missing = new Set<PayloadRef>();
  const values = reads.flatMap((read) => {
    try {
      return [read()];
    } catch (error) {
      if (!(error instanceof PayloadsNeeded)) throw error;
      for (const ref of error.refs) missing.add(ref);
      return [];
    }
  });
  if (missing.size > 0) throw new PayloadsNeeded([...missing]);
  return values;
}

/** With this prefix and its id, the result of each node is readable, with or without an output variable. */
const nodePrefix = '__node_';

/**
 * The context of a run as of one event: the latest write of each key before it.
 * Inside an iteration, values that its nodes wrote take precedence over values from outside, and its item and index over those of an
 * enclosing loop. Values of other iterations are not visible.
 */
export function contextAt(
  state: RunState,
  iteration: IterationKey,
  before: EventId,
  loaded: LoadedPayloads,
  work: NodeWork = new NodeWork(),
): ContextView {
  const scopes = enclosingIterations(iteration);
  const lastWriteAt = (scope: IterationKey, key: string): Payload | undefined =>
    writesIn(state, scope, key)?.findLast(({ writtenBy }) => writtenBy < before)?.payload;

  /** Bytes that a read of these keys would load. */
  const offloadedBytesIn = (keys: readonly string[]): number => {
    const payloads = keys.flatMap((key) => {
      if (key.startsWith(nodePrefix)) {
        const id = nodeId(key.slice(nodePrefix.length));
        const node = scopes
          .map((iteration) => state.nodes.get(nodeKey({ nodeId: id, iteration })))
          .find((found) => found !== undefined);
        return node?.status === 'completed' ? [node.output] : [];
      }
      return scopes.map((scope) => lastWriteAt(scope, key)).find((found) => found !== undefined) ?? [];
    });
    return payloads.reduce((sum, payload) => sum + ('ref' in payload ? payload.bytes : 0), 0);
  };

  const valueAt = (key: string): JsonValue | undefined => {
    for (const scope of scopes) {
      const payload = lastWriteAt(scope, key);
      if (payload !== undefined) return valueOf(payload, loaded);
      const iterationValue = iterationVariable(state, scope, key, loaded);
      if (iterationValue !== undefined) return iterationValue;
    }
    return undefined;
  };

  const nodeResult = (key: string): JsonValue | undefined => {
    const id = key.slice(nodePrefix.length);
    if (!nodeIdPattern.test(id)) return undefined;
    for (const scope of scopes) {
      const node = state.nodes.get(nodeKey({ nodeId: nodeId(id), iteration: scope }));
      if (node === undefined || !('endedBy' in node) || node.endedBy >= before) continue;
      return { status: node.status, output: node.status === 'completed' ? valueOf(node.output, loaded) : null };
    }
    return undefined;
  };

  const get = (key: string): JsonValue | undefined => (key.startsWith(nodePrefix) ? nodeResult(key) : valueAt(key));

  const keys = (options?: { readonly hidden: boolean }): readonly string[] => {
    const shown = [...new Set(scopes.toReversed().flatMap((scope) => keysIn(state, scope, before)))];
    if (options?.hidden !== true) return shown.filter((key) => !key.startsWith('__'));
    const ended = [...state.nodes.entries()].flatMap(([, node]) =>
      'endedBy' in node && node.endedBy < before && scopes.includes(node.iteration) ? [`${nodePrefix}${node.nodeId}`] : [],
    );
    return [...shown, ...new Set(ended)];
  };

  const all: ContextView['all'] = (options) => {
    const written = keys(options);
    const named = options?.names === undefined ? written : written.filter((key) => options.names?.has(key));
    // Checked before the load: the values would not fit in the worker's memory.
    const offloadedBytes = offloadedBytesIn(named);
    if (offloadedBytes > payloadLimits.contextBytes) throw new ContextTooLarge(offloadedBytes);
    return Object.fromEntries(readAll(named.map((key) => () => [key, get(key) ?? null])));
  };

  return { get, keys, all, work };
}

const writesIn = (state: RunState, scope: IterationKey, key: string): readonly ContextWrite[] | undefined => {
  if (scope === topLevel) return state.contextWrites.get(key);
  const writes = state.iterations.get(scope)?.contextWrites;
  return writes !== undefined && Object.hasOwn(writes, key) ? writes[key] : undefined;
};

function keysIn(state: RunState, scope: IterationKey, before: EventId): readonly string[] {
  const keys =
    scope === topLevel ? [...state.contextWrites.keys()] : Object.keys(state.iterations.get(scope)?.contextWrites ?? {});
  const loopSettings = loopOf(state, scope);
  return [
    ...(loopSettings === undefined ? [] : [loopSettings.itemVariable, loopSettings.indexVariable]),
    ...keys.filter((key) => writesIn(state, scope, key)?.some((writes) => writes.writtenBy < before)),
  ];
}

/** The iteration's item or index, if the key names one of them. */
function iterationVariable(state: RunState, scope: IterationKey, key: string, loaded: LoadedPayloads): JsonValue | undefined {
  const loopIteration = state.iterations.get(scope);
  const loop = loopOf(state, scope);
  if (loopIteration === undefined || loop === undefined) return undefined;
  if (key === loop.indexVariable) return loopIteration.index;
  return key === loop.itemVariable ? itemOf(loop, loopIteration, loaded) : undefined;
}

/** The item of an iteration, from its start event or from the loop's pages. */
export function itemOf(
  loop: LoopState,
  { index, item }: Pick<LoopIteration, 'index' | 'item'>,
  loaded: LoadedPayloads,
): JsonValue {
  if (item !== undefined) return valueOf(item, loaded);
  const page = loop.pages[Math.floor(index / loop.pageSize)];
  invariant(page !== undefined, `item ${index} of ${loop.items} is in no page`);
  const values = valueOf(page, loaded);
  return (isJsonArray(values) ? values[index % loop.pageSize] : null) ?? null;
}

/** The loop of the iteration. */
export function loopOf(state: RunState, scope: IterationKey): LoopState | undefined {
  const loopIteration = state.iterations.get(scope);
  const node = loopIteration === undefined ? undefined : state.nodes.get(nodeKey(loopIteration.loop));
  return node?.status === 'waiting' && node.for === 'iterations' ? node.loop : undefined;
}
