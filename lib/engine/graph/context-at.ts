/** Builds the context of a run as of one event: the fold of what was written before it, later writings winning. */
import { type EventId, nodeId, nodeIdPattern, nodeKey, topLevel } from '../ids.ts';
import type { JsonObject, JsonValue, Payload, PayloadRef } from '../json.ts';
import type { RunState } from '../log/fold.ts';
import { type ContextView, PayloadsNeeded } from './context.ts';

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

export function contextAt(state: RunState, before: EventId, loaded: LoadedPayloads): ContextView {
  const payloadOf = (key: string): Payload | undefined =>
    state.written.get(key)?.findLast((written) => written.by < before)?.payload;

  const nodeResult = (key: string): JsonValue | undefined => {
    const id = key.slice(nodePrefix.length);
    if (!nodeIdPattern.test(id)) return undefined;
    const node = state.nodes.get(nodeKey({ nodeId: nodeId(id), iteration: topLevel }));
    if (node === undefined || !('endedBy' in node) || node.endedBy >= before) return undefined;
    return { status: node.status, output: node.status === 'completed' ? valueOf(node.output, loaded) : null };
  };

  const get = (key: string): JsonValue | undefined => {
    if (key.startsWith(nodePrefix)) return nodeResult(key);
    const payload = payloadOf(key);
    return payload === undefined ? undefined : valueOf(payload, loaded);
  };

  const keys = (options?: { readonly hidden: boolean }): readonly string[] => {
    const shown = [...state.written.keys()].filter((key) => payloadOf(key) !== undefined);
    if (options?.hidden !== true) return shown.filter((key) => !key.startsWith('__'));
    const nodes = [...state.nodes.entries()]
      .filter(([, node]) => 'endedBy' in node && node.endedBy < before)
      .map(([key]) => `${nodePrefix}${key}`);
    return [...shown, ...nodes];
  };

  const all = (options?: { readonly hidden: boolean }): JsonObject =>
    Object.fromEntries(together(keys(options).map((key) => () => [key, get(key) ?? null])));

  return { get, keys, all };
}
