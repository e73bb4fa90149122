/** Streams of nodes in memory. */
import type { NodeKey, RunAddress } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Delta, DeltaPut, Streams } from '../ports/streams.ts';
import { frozenCopy } from './frozen-copy.ts';
import { runName } from './runs.ts';

export class MemoryStreams implements Streams {
  readonly #streams = new Map<string, Map<number, Delta>>();

  async put(run: RunAddress, node: NodeKey, delta: Delta, _expiresAt: Instant): Promise<DeltaPut> {
    const slots = this.#slots(run, node);
    const existing = slots.get(delta.index);
    if (existing !== undefined) return { kind: 'occupied', owner: existing.owner };
    slots.set(delta.index, frozenCopy(delta));
    return { kind: 'stored' };
  }

  async from(run: RunAddress, node: NodeKey, index: number, limit: number): Promise<readonly Delta[]> {
    return this.#inOrder(run, node)
      .filter((delta) => delta.index >= index)
      .slice(0, limit);
  }

  async last(run: RunAddress, node: NodeKey): Promise<Delta | undefined> {
    return this.#inOrder(run, node).at(-1);
  }

  #inOrder(run: RunAddress, node: NodeKey): readonly Delta[] {
    return [...this.#slots(run, node).values()].toSorted((one, other) => one.index - other.index);
  }

  #slots(run: RunAddress, node: NodeKey): Map<number, Delta> {
    const name = `${runName(run)}#${node}`;
    const known = this.#streams.get(name) ?? new Map<number, Delta>();
    this.#streams.set(name, known);
    return known;
  }
}
