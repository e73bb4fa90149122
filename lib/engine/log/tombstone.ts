/**
 * What is left in the log of a run that was forgotten: in each slot a commit that says nothing but that it is over, until the
 * run would have expired. So whoever still holds an older fold finds its slot taken, and the run cancelled.
 */
import { nonce } from '../ids.ts';
import type { Commit } from './commit.ts';

/** Of every such commit. Nobody draws it: a drawn one is longer. */
export const tombstoneNonce = nonce('tombstone');

export const isTombstone = (commit: Pick<Commit, 'nonce'>): boolean => commit.nonce === tombstoneNonce;

export const tombstoneCommit = ({ number, firstEventId, at }: Pick<Commit, 'number' | 'firstEventId' | 'at'>): Commit => ({
  number,
  firstEventId,
  at,
  events: [{ type: 'RUN_CANCELLED' }],
  by: 'test-runs',
  nonce: tombstoneNonce,
});
