/**
 * Folds that are kept so that a long log need not be read from its first commit. A cache: whoever finds none reads the log. One
 * that fits no item lies in the bucket, under the run's name, and goes with the run.
 */
import { gzipSync } from 'node:zlib';
import { foldBody, parseFold } from '../codec/fold.ts';
import type { RunAddress } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue } from '../engine/json.ts';
import { type RunState, foldSchema, isTerminal } from '../engine/log/fold.ts';
import { isWorthASnapshot, restoreFold, storeFold } from '../engine/log/stored-fold.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { blobsOf } from './payloads.ts';
import type { ReadsRuns, RunFold } from './read-log.ts';

/** Of a fold, compressed. Larger than an item may be, with room to spare. */
const largestInItemBytes = 350_000;
/** In UTF-8, of a unit of UTF-16. What is small enough without it need not be compressed to know. */
const mostBytesOfCharacter = 3;

/** The state of such a snapshot is the fold's name in the bucket. To readers that know nothing of that it is of another schema. */
const schemaApart = -foldSchema;

/** The fold at some commit, where one is kept that this version of the fold understands. */
export async function snapshotOf(deps: ReadsRuns, run: RunAddress): Promise<RunState | undefined> {
  const snapshot = await deps.log.snapshot(run);
  if (snapshot === undefined) return undefined;
  const { asOf, schema } = snapshot;
  const body =
    schema === foldSchema ? snapshot.state : schema === schemaApart ? await bodyApart(deps, run, snapshot.state) : undefined;
  if (body === undefined) return undefined;
  const state = restoreFold(parseFold(body));
  invariant(state.asOf === asOf, `a snapshot of commit ${asOf} holds the fold of commit ${state.asOf}`);
  return state;
}

async function bodyApart({ blobs }: ReadsRuns, run: RunAddress, key: JsonValue): Promise<JsonValue | undefined> {
  if (blobs === undefined || typeof key !== 'string') return undefined;
  try {
    return await blobs.get(run, key);
  } catch (trouble) {
    if (!(trouble instanceof Unavailable)) throw trouble;
    return undefined;
  }
}

/** Keeps the fold beside the log where the log has grown enough since the last time. */
export async function saveSnapshot(deps: Pick<Deps, 'log' | 'blobs' | 'settings'>, fold: RunFold): Promise<void> {
  const { asOf } = fold.state;
  const isWorthIt = asOf !== 0 && isWorthASnapshot(asOf, fold.snapshotAt, deps.settings.firstSnapshotAt);
  if (asOf === 0 || !isWorthIt || isTerminal(fold.state.progress)) return;
  fold.snapshotAt = asOf;
  const { address: run, expiresAt } = fold.head;
  const body = foldBody(storeFold(fold.state));
  const text = JSON.stringify(body);
  const isSmall =
    text.length * mostBytesOfCharacter <= largestInItemBytes || gzipSync(text, { level: 1 }).length <= largestInItemBytes;
  try {
    if (isSmall) {
      await deps.log.saveSnapshot(run, { asOf, schema: foldSchema, state: body }, expiresAt);
    } else {
      // The same commits fold to the same state, whoever writes it.
      const key = `${blobsOf(fold.head)}snapshot-${foldSchema}-${asOf}`;
      await deps.blobs.put(run, key, body, expiresAt);
      await deps.log.saveSnapshot(run, { asOf, schema: schemaApart, state: key }, expiresAt);
    }
  } catch (trouble) {
    if (!(trouble instanceof Unavailable)) throw trouble;
  }
}
