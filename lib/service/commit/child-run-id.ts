/** The id of a run that another one calls: it follows from the call, so that the call is made once however often it is carried out. */
import { createHash } from 'node:crypto';
import { type Attempt, type NodeRef, type RunId, nodeKey, runId } from '../../engine/ids.ts';

/** Crockford's, as in every run id. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeLength = 'wrun_'.length + 10;
const randomLength = 16;

/** The time is the caller's, the rest a digest of the call: 80 bits of it. */
export function childRunId(caller: RunId, node: NodeRef, attempt: Attempt): RunId {
  const digest = createHash('sha256')
    .update(`${caller}/${nodeKey(node)}/${attempt}`)
    .digest();
  const letters = Array.from(digest.subarray(0, randomLength), (byte) => alphabet[byte % alphabet.length]);
  return runId(caller.slice(0, timeLength) + letters.join(''));
}
