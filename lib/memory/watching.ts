/** Output of running nodes, tickets, reader leases and stream slots in memory. */
import type { NodeKey, RunAddress, Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  Delta,
  DeltaPut,
  Streams,
  Ticket,
  Tickets,
  Reader,
  ReaderLeases,
  SlotLease,
  StreamSlot,
} from '../ports/watching.ts';
import { frozenCopy } from './frozen-copy.ts';
import { runName } from './runs.ts';

/** Streams of nodes in memory. */
class MemoryStreams implements Streams {
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

/** Tickets to watch a run, in memory. */
class MemoryTickets implements Tickets {
  readonly #tickets = new Map<string, { readonly ticket: Ticket; takenBy?: Nonce }>();

  async put(digest: string, ticket: Ticket, _retainUntil: Instant): Promise<void> {
    this.#tickets.set(digest, { ticket: frozenCopy(ticket) });
  }

  async ticket(digest: string): Promise<Ticket | undefined> {
    return this.#tickets.get(digest)?.ticket;
  }

  async redeem(digest: string, by: Nonce): Promise<boolean> {
    const entry = this.#tickets.get(digest);
    if (entry === undefined) return false;
    return (entry.takenBy ??= by) === by;
  }
}

/** Reader leases and stream slots in memory. */
export class MemoryReaderLeases implements ReaderLeases {
  readonly #holders = new Map<string, Nonce>();
  readonly #slots = new Map<number, SlotLease>();

  async acquire(reader: Reader, stream: Nonce, _retainUntil: Instant): Promise<void> {
    this.#holders.set(nameOf(reader), stream);
  }

  async holder(reader: Reader): Promise<Nonce | undefined> {
    return this.#holders.get(nameOf(reader));
  }

  async acquireStreamSlot(lease: SlotLease): Promise<StreamSlot | undefined> {
    for (let number = 0; number < lease.maxSlots; number += 1) {
      if ((this.#slots.get(number)?.until ?? lease.now) > lease.now) continue;
      this.#slots.set(number, lease);
      return { number, stream: lease.stream };
    }
    return undefined;
  }

  async releaseStreamSlot({ number, stream }: StreamSlot): Promise<void> {
    if (this.#slots.get(number)?.stream === stream) this.#slots.delete(number);
  }
}

const nameOf = ({ run, keyId, name }: Reader): string => JSON.stringify([run.projectId, run.environment, run.runId, keyId, name]);

export const memoryWatching = () => ({
  streams: new MemoryStreams(),
  tickets: new MemoryTickets(),
  readerLeases: new MemoryReaderLeases(),
});
