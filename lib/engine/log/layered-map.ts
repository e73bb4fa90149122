/**
 * A map that can be forked in constant time: a fork reads its base and stores its own changes.
 * `decide` works on a fork of the fold, so that a commit that loses its conflict is dropped with the fork.
 */
export class LayeredMap<Key, Value> {
  readonly #base: LayeredMap<Key, Value> | undefined;
  readonly #changed = new Map<Key, Value>();
  readonly #removed = new Set<Key>();
  #size: number;

  constructor(base?: LayeredMap<Key, Value>) {
    this.#base = base;
    this.#size = base?.size ?? 0;
  }

  get size(): number {
    return this.#size;
  }

  get(key: Key): Value | undefined {
    const changed = this.#changed.get(key);
    if (changed !== undefined || this.#changed.has(key)) return changed;
    return this.#removed.has(key) ? undefined : this.#base?.get(key);
  }

  has(key: Key): boolean {
    return this.#changed.has(key) || (!this.#removed.has(key) && this.#base?.has(key) === true);
  }

  set(key: Key, value: Value): void {
    if (!this.has(key)) this.#size += 1;
    this.#removed.delete(key);
    this.#changed.set(key, value);
  }

  delete(key: Key): void {
    if (!this.has(key)) return;
    this.#size -= 1;
    this.#changed.delete(key);
    if (this.#base?.has(key) === true) this.#removed.add(key);
  }

  /** Keys in the order in which they were first set; new keys of a fork come last. */
  *keys(): IterableIterator<Key> {
    if (this.#base !== undefined) for (const key of this.#base.keys()) if (!this.#removed.has(key)) yield key;
    for (const key of this.#changed.keys()) if (this.#base?.has(key) !== true) yield key;
  }

  *entries(): IterableIterator<readonly [Key, Value]> {
    for (const key of this.keys()) {
      const value = this.get(key);
      if (value !== undefined) yield [key, value];
    }
  }

  fork(): LayeredMap<Key, Value> {
    return new LayeredMap<Key, Value>(this);
  }
}
