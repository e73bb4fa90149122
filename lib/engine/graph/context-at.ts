/** Builds the context of a run as of one event: the fold of what was written before it, later writings winning. */
import { type EventId, type IterationKey, nodeId, nodeIdPattern, nodeKey, outwards, topLevel } from '../ids.ts';
import { invariant } from '../invariant.ts';
import { type JsonObject, type JsonValue, type Payload, type PayloadRef, isJsonArray } from '../json.ts';
import type { LoopState, Pass } from '../log/loop-state.ts';
import type { RunState, Written } from '../log/fold.ts';
import { type ContextView, PayloadsNeeded } from './context.ts';
import { ContextTooLarge, payloadLimits } from './payload-limits.ts';
import { NodeWork } from './work.ts';

export type LoadedPayloads = ReadonlyMap<PayloadRef, JsonValue>;

/** The value of a payload; throws `PayloadsNeeded` where it is stored apart and not loaded yet. */
export const valueOf = (payload: Payload, loaded: LoadedPayloads): JsonValue => {
  if ('value' in payload) return payload.value;
  const value = loaded.get(payload.ref);
  if (value === undefined) throw new PayloadsNeeded([payload.ref]);
  return value;
};

/** The answers to all questions, or one `PayloadsNeeded` for all that is missing: every round of asking costs a load. */
export function together<Answer>(questions: readonly (() => Answer)[]): readonly Answer[] {
  const missing = new Set<PayloadRef>();
  const answers = questions.flatMap((question) => {
    try {
      return [question()];
    } catch (trouble) {
      if (!(trouble instanceof PayloadsNeeded)) throw trouble;
      for (const ref of trouble.refs) missing.add(ref);
      return [];
    }
  });
  if (missing.size > 0) throw new PayloadsNeeded([...missing]);
  return answers;
}

/** Behind this prefix the result of each node is readable by its id, whatever its output variable. */
const nodePrefix = '__node_';

/**
 * Inside a pass of a loop, what its nodes wrote comes before what was written outside, and the pass's item and index
 * before both of an outer loop. What another pass wrote is not seen.
 */
export function contextAt(
  state: RunState,
  iteration: IterationKey,
  before: EventId,
  loaded: LoadedPayloads,
  work: NodeWork = new NodeWork(),
): ContextView {
  const scopes = outwards(iteration);
  const writtenAt = (scope: IterationKey, key: string): Payload | undefined =>
    writtenIn(state, scope, key)?.findLast(({ by }) => by < before)?.payload;

  /** How much of what is looked up at once would have to be loaded. */
  const apartIn = (keys: readonly string[]): number => {
    const payloads = keys.flatMap((key) => {
      if (key.startsWith(nodePrefix)) {
        const id = nodeId(key.slice(nodePrefix.length));
        const node = scopes
          .map((iteration) => state.nodes.get(nodeKey({ nodeId: id, iteration })))
          .find((found) => found !== undefined);
        return node?.status === 'completed' ? [node.output] : [];
      }
      return scopes.map((scope) => writtenAt(scope, key)).find((found) => found !== undefined) ?? [];
    });
    return payloads.reduce((sum, payload) => sum + ('ref' in payload ? payload.bytes : 0), 0);
  };

  const valueAt = (key: string): JsonValue | undefined => {
    for (const scope of scopes) {
      const payload = writtenAt(scope, key);
      if (payload !== undefined) return valueOf(payload, loaded);
      const own = ofPass(state, scope, key, loaded);
      if (own !== undefined) return own;
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

  const all = (options?: { readonly hidden: boolean }): JsonObject => {
    const named = keys(options);
    // Before anything is loaded: a worker's memory would not hold it.
    const apart = apartIn(named);
    if (apart > payloadLimits.contextBytes) throw new ContextTooLarge(apart);
    return Object.fromEntries(together(named.map((key) => () => [key, get(key) ?? null])));
  };

  return { get, keys, all, work };
}

const writtenIn = (state: RunState, scope: IterationKey, key: string): readonly Written[] | undefined => {
  if (scope === topLevel) return state.written.get(key);
  const written = state.passes.get(scope)?.written;
  return written !== undefined && Object.hasOwn(written, key) ? written[key] : undefined;
};

function keysIn(state: RunState, scope: IterationKey, before: EventId): readonly string[] {
  const keys = scope === topLevel ? [...state.written.keys()] : Object.keys(state.passes.get(scope)?.written ?? {});
  const terms = loopOf(state, scope);
  return [
    ...(terms === undefined ? [] : [terms.itemVariable, terms.indexVariable]),
    ...keys.filter((key) => writtenIn(state, scope, key)?.some((written) => written.by < before)),
  ];
}

/** The item or the index of the pass, where the key names one of them. */
function ofPass(state: RunState, scope: IterationKey, key: string, loaded: LoadedPayloads): JsonValue | undefined {
  const pass = state.passes.get(scope);
  const loop = loopOf(state, scope);
  if (pass === undefined || loop === undefined) return undefined;
  if (key === loop.indexVariable) return pass.index;
  return key === loop.itemVariable ? itemOf(loop, pass, loaded) : undefined;
}

/** The item of a pass: said when the pass began, or in its place among all items. */
export function itemOf(loop: LoopState, { index, item }: Pick<Pass, 'index' | 'item'>, loaded: LoadedPayloads): JsonValue {
  if (item !== undefined) return valueOf(item, loaded);
  const page = loop.pages[Math.floor(index / loop.pageSize)];
  invariant(page !== undefined, `item ${index} of ${loop.items} is in no page`);
  const values = valueOf(page, loaded);
  return (isJsonArray(values) ? values[index % loop.pageSize] : null) ?? null;
}

/** The loop that the pass is of. */
export function loopOf(state: RunState, scope: IterationKey): LoopState | undefined {
  const pass = state.passes.get(scope);
  const node = pass === undefined ? undefined : state.nodes.get(nodeKey(pass.loop));
  return node?.status === 'waiting' && node.for === 'passes' ? node.loop : undefined;
}
