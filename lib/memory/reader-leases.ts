/** Reader leases and stream slots in memory. */
import type { Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Reader, ReaderLeases, SlotLease, StreamSlot } from '../ports/reader-leases.ts';

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
