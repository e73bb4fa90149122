/**
 * The commit that replaces each commit of a deleted run until the run's items expire: it cancels the run and contains nothing else.
 * A writer with an older fold finds its commit number taken and the run cancelled.
 */
import { nonce } from '../ids.ts';
import type { Commit } from './commit.ts';

/** The nonce of every tombstone. Random nonces are longer. */
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
