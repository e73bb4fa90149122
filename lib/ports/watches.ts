/** Messages that ask for somebody who speaks for a run: whoever takes one posts what happens to all that have joined. */
import type { Hops } from '../engine/hops.ts';
import type { Nonce, RunAddress } from '../engine/ids.ts';

export interface Watch {
  readonly run: RunAddress;
  /** tells this message from the others of its run; sent again with the same one, it is the same message */
  readonly broadcastId: Nonce;
}

export interface Watches {
  /** Those of one run are taken one after the other. `hops`: as with jobs (`ports/jobs.ts`). */
  send(watch: Watch, hops?: Hops): Promise<void>;
}
