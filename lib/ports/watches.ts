/** Watch messages. Each requests a broadcaster for a run: its receiver posts the run's updates to the watchers. */
import type { Hops } from '../engine/hops.ts';
import type { Nonce, RunAddress } from '../engine/ids.ts';

export interface Watch {
  readonly run: RunAddress;
  /** identifies the message among those of its run, and deduplicates it */
  readonly broadcastId: Nonce;
}

export interface Watches {
  /** Messages of one run are received one at a time. `hops`: as in `ports/jobs.ts`. */
  send(watch: Watch, hops?: Hops): Promise<void>;
}
