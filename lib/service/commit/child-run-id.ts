/** Derives a child run's id from the call, so that dispatching the call again starts no second child run. */
import { createHash } from 'node:crypto';
import { type Attempt, type NodeRef, type RunId, nodeKey, runId } from '../../engine/ids.ts';

/** Crockford's base 32, as in every run id. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeLength = 'wrun_'.length + 10;
const randomLength = 16;

/** The time part is the caller's. The rest is an 80-bit digest of the call. */
export function childRunId(caller: RunId, node: NodeRef, attempt: Attempt): RunId {
  const digest = createHash('sha256')
    .update(`${caller}/${nodeKey(node)}/${attempt}`)
    .digest();
  const letters = Array.from(digest.subarray(0, randomLength), (byte) => alphabet[byte % alphabet.length]);
  return runId(caller.slice(0, timeLength) + letters.join(''));
}
