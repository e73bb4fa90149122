/**
 * Folds that are kept so that a long log need not be read from its first commit. A cache: whoever finds none reads the log. One
 * that fits no item lies in the bucket, under the run's name, and goes with the run.
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

/** Of a fold, compressed. Larger than an item may be, with room to spare. */
const maxSnapshotItemBytes = 350_000;
/** In UTF-8, of a unit of UTF-16. What is small enough without it need not be compressed to know. */
const maxBytesPerCharacter = 3;

/** The state of such a snapshot is the fold's name in the bucket. To readers that know nothing of that it is of another schema. */
const offloadedSchema = -foldSchema;

/** The fold at some commit, where one is kept that this version of the fold understands. */
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
  invariant(state.asOf === asOf, `a snapshot of commit ${asOf} holds the fold of commit ${state.asOf}`);
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

/** Keeps the fold beside the log where the log has grown enough since the last time. */
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
      // The same commits fold to the same state, whoever writes it.
      const key = `${blobPrefixOf(fold.head)}snapshot-${foldSchema}-${asOf}`;
      await deps.blobs.put(run, key, body, expiresAt);
      await deps.log.saveSnapshot(run, { asOf, schema: offloadedSchema, state: key }, expiresAt);
    }
  } catch (error) {
    if (!(error instanceof Unavailable)) throw error;
  }
}
