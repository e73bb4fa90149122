/**
 * What templates and scripts see as `ctx`, as of one event of the log. Values that were stored beside the log
 * are looked up among those already loaded; a missing one is asked for by name, and the caller comes again.
 */
import type { JsonObject, JsonValue, PayloadRef } from '../json.ts';
import type { NodeWork } from './work-limits.ts';

export interface ContextView {
  /** what is looked up and made of it counts here: one count for all of a node */
  readonly work: NodeWork;
  /** One top-level key of the context, or undefined where nothing has been written under it yet. */
  get(key: string): JsonValue | undefined;
  /** The keys written so far; with `hidden`, those that start with `__` too. */
  keys(options?: { readonly hidden: boolean }): readonly string[];
  /** All of it as one object; with `hidden`, the keys that start with `__` too. */
  all(options?: { readonly hidden: boolean }): JsonObject;
}

/** Says which stored values must be loaded before the same question can be answered. Caught at the engine's doors. */
export class PayloadsNeeded extends Error {
  override readonly name = 'PayloadsNeeded';
  readonly refs: readonly PayloadRef[];
  constructor(refs: readonly PayloadRef[]) {
    super(`stored values must be loaded first: ${refs.join(', ')}`);
    this.refs = refs;
  }
}
