/** Seats of readers, in memory. */
import type { Nonce } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Reader, Seats } from '../ports/seats.ts';

export class MemorySeats implements Seats {
  readonly #holders = new Map<string, Nonce>();

  async give(reader: Reader, stream: Nonce, _forgetAt: Instant): Promise<void> {
    this.#holders.set(nameOf(reader), stream);
  }

  async holder(reader: Reader): Promise<Nonce | undefined> {
    return this.#holders.get(nameOf(reader));
  }
}

const nameOf = ({ run, keyId, name }: Reader): string => JSON.stringify([run.projectId, run.environment, run.runId, keyId, name]);
