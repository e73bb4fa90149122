/**
 * Stores and reads snapshots of the fold, so that a reader need not read a long log from its first commit. A snapshot is a cache: a
 * reader without one reads the log. A snapshot too large for an item is stored in the bucket and expires with the run.
 */
import { gzipSync } from 'node:zlib';
import { foldBody, parseFold } from '../../codec/fold.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue } from '../../engine/json.ts';
import { type RunState, foldSchema, isTerminal } from '../../engine/log/fold.ts';
import { shouldTakeSnapshot, restoreFold, storeFold } from '../../engine/log/stored-fold.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { blobPrefixOf } from './payloads.ts';
import type { RunReadDeps, RunFold } from './read-run-fold.ts';

/** Compressed. An item holds 400 KB; the rest is a margin. */
export const maxSnapshotItemBytes = 350_000;
/** Most UTF-8 bytes per UTF-16 unit. A text that is small by this bound need not be compressed to measure it. */
const maxBytesPerCharacter = 3;

/** Schema of a snapshot whose `state` is a key in the bucket. A reader that does not know it ignores the snapshot. */
const offloadedSchema = -foldSchema;

/** Reads the stored snapshot; undefined if there is none, or none of this version's schema. */
export async function readSnapshot(deps: RunReadDeps, run: RunAddress): Promise<RunState | undefined> {
  const snapshot = await deps.log.snapshot(run);
  if (snapshot === undefined) return undefined;
  const { asOf, schema } = snapshot;
  const body =
    schema === foldSchema
      ? snapshot.state
      : schema === offloadedSchema
        ? await readOffloadedBody(deps, run, snapshot.state)
        : undefined;
  if (body === undefined) return undefined;
  const state = restoreFold(parseFold(body));
  invariant(
    state.asOf === asOf,
    `the snapshot of ${run.runId} names commit ${asOf} but contains the fold of commit ${state.asOf}`,
  );
  return state;
}

async function readOffloadedBody({ blobs }: RunReadDeps, run: RunAddress, key: JsonValue): Promise<JsonValue | undefined> {
  if (blobs === undefined || typeof key !== 'string') return undefined;
  try {
    return await blobs.get(run, key);
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
    return undefined;
  }
}

/** Stores a snapshot of the fold when the log has grown enough since the last one. */
export async function saveSnapshot(deps: Pick<Deps, 'log' | 'blobs' | 'settings'>, fold: RunFold): Promise<void> {
  const { asOf } = fold.state;
  const isDue = asOf !== 0 && shouldTakeSnapshot(asOf, fold.snapshotAt, deps.settings.firstSnapshotAt);
  if (asOf === 0 || !isDue || isTerminal(fold.state.progress)) return;
  fold.snapshotAt = asOf;
  const { address: run, expiresAt } = fold.head;
  const body = foldBody(storeFold(fold.state));
  const text = JSON.stringify(body);
  const isSmall =
    text.length * maxBytesPerCharacter <= maxSnapshotItemBytes || gzipSync(text, { level: 1 }).length <= maxSnapshotItemBytes;
  try {
    if (isSmall) {
      await deps.log.saveSnapshot(run, { asOf, schema: foldSchema, state: body }, expiresAt);
    } else {
      // The same commits fold to the same state, so concurrent writers store the same value under this key.
      const key = `${blobPrefixOf(fold.head)}snapshot-${foldSchema}-${asOf}`;
      await deps.blobs.put(run, key, body, expiresAt);
      await deps.log.saveSnapshot(run, { asOf, schema: offloadedSchema, state: key }, expiresAt);
    }
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}
