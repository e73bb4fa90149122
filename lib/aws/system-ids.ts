/** Ids and random numbers of the system. */
import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { type Nonce, type RunId, nonce, runId } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type { Ids } from '../ports/ids.ts';

export class SystemIds implements Ids {
  runId(at: Instant): RunId {
    return runId(`wrun_${ulid(at)}`);
  }

  /** 96 bits, so that two writers of a commit number never draw the same nonce. */
  nonce(): Nonce {
    return nonce(randomBytes(12).toString('base64url'));
  }

  random(): number {
    return Math.random();
  }
}
