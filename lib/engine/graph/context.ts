/**
 * The context that templates and scripts see as `ctx`, as of one event of the log. Offloaded values are read from those already
 * loaded; for a missing one the read throws, and the caller loads it and tries again.
 */
import type { JsonObject, JsonValue, PayloadRef } from '../json.ts';
import type { NodeWork } from './work-limits.ts';

export interface ContextView {
  /** counts the work of reads and of the texts made from them, for the whole node */
  readonly work: NodeWork;
  /** One top-level key of the context; undefined if it is not written yet. */
  get(key: string): JsonValue | undefined;
  /** The keys written so far; with `hidden`, those that start with `__` too. */
  keys(options?: { readonly hidden: boolean }): readonly string[];
  /** The whole context as one object; with `hidden`, the keys that start with `__` too. */
  all(options?: { readonly hidden: boolean }): JsonObject;
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
