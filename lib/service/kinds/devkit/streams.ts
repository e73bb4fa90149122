/**
 * Streams of the Workflow DevKit: chunks of bytes in the order of their writer. A flush is one item, named by the index of its first
 * chunk, so that two writers never take the same index. A health check writes to a stream that belongs to no run.
 */
import { createHash } from 'node:crypto';
import { type RunAddress, type RunId, type Scope, runIdPattern, runId as toRunId } from '../../../engine/ids.ts';
import { type JsonObject, type JsonValue, type Payload, inline, isJsonArray } from '../../../engine/json.ts';
import { type Instant, after, days } from '../../../engine/time.ts';
import type { StreamFlush, StreamName } from '../../../ports/devkit.ts';
import type { Deps } from '../../deps.ts';
import { blobPrefixOf } from '../../run-log/payloads.ts';
import { chunkInAnswer, keepChunks } from './uploads.ts';
import { type WorldError, type WorldResult, answer, invalid, noRun, refused } from './world-error.ts';

/** Streams with this beginning belong to no run. */
export const healthCheckPrefix = '__health_check__';
/** A flush above this size is in the bucket: an item holds 400 KB. */
const maxFlushBytes = 300_000;
/** How long a stream without a run is stored. */
const detachedLifetime = days(1);
const defaultPage = 100;
/** A Lambda response has at most 6 MB. */
const maxPageBytes = 4_194_304;
/** Writers of one stream that collide, before one of them gives up. */
const maxCollisions = 50;

export interface StreamRequest {
  readonly scope: Scope;
  readonly runId?: string;
  readonly name: string;
}

type ReadDeps = Pick<Deps, 'blobs' | 'clock' | 'devKitStreams' | 'log' | 'uploads'>;
type WriteDeps = Pick<Deps, 'blobs' | 'clock' | 'devKitStreams' | 'log' | 'settings'>;

interface Stream {
  readonly stream: StreamName;
  readonly expiresAt: Instant;
}

export async function writeStream(
  deps: WriteDeps,
  request: StreamRequest,
  chunks: readonly JsonValue[],
  isLast = false,
): Promise<WorldResult<JsonObject>> {
  const found = await writableStream(deps, request);
  if ('code' in found) return found;
  // A flush without chunks takes no index, so the next writer could never take the index after it.
  if (chunks.length === 0 && !isLast) return answer({});
  const { stream, expiresAt } = found;
  const wrong = await keepChunks(deps, ownerOf(stream), chunks);
  if (wrong !== undefined) return wrong;
  const stored = await offloadChunks(deps, found, chunks);
  for (let collisions = 0; collisions < maxCollisions; collisions += 1) {
    const last = await deps.devKitStreams.last(stream);
    // No reader continues after the end of a stream, so later chunks are dropped.
    if (last?.isLast === true) return answer({});
    const first = last === undefined ? 0 : last.first + last.count;
    if (first === 0 && stream.runId !== undefined)
      await deps.devKitStreams.nameStream({ ...stream, runId: stream.runId }, stream.name, expiresAt);
    const flush: StreamFlush = { first, count: chunks.length, chunks: stored, ...(isLast ? { isLast } : {}) };
    if (await deps.devKitStreams.append(stream, flush, expiresAt)) return answer({});
  }
  return refused('unavailable', `too many writers of the stream ${request.name}`);
}

const ownerOf = ({ runId, ...scope }: StreamName): RunAddress | undefined =>
  runId === undefined ? undefined : { projectId: scope.projectId, environment: scope.environment, runId };

/** The end of a stream is a flush without chunks. Its index is that of the chunk that never comes. */
export const closeStream = (deps: WriteDeps, request: StreamRequest): Promise<WorldResult<JsonObject>> =>
  writeStream(deps, request, [], true);

async function writableStream(deps: WriteDeps, { scope, runId, name }: StreamRequest): Promise<Stream | WorldError> {
  const detached = { stream: { ...scope, name }, expiresAt: after(deps.clock.now(), detachedLifetime) };
  if (name.startsWith(healthCheckPrefix)) return detached;
  if (runId === undefined || !runIdPattern.test(runId)) return invalid('/runId', 'a stream has a run');
  const run = { ...scope, runId: toRunId(runId) };
  const head = await deps.log.head(run);
  if (head?.kind !== 'devkit') return noRun;
  return { stream: { ...run, name }, expiresAt: head.expiresAt };
}

async function offloadChunks(deps: WriteDeps, { stream, expiresAt }: Stream, chunks: readonly JsonValue[]): Promise<Payload> {
  const text = JSON.stringify(chunks);
  if (Buffer.byteLength(text) <= maxFlushBytes || stream.runId === undefined) return inline(chunks);
  const prefix = blobPrefixOf({ address: { ...stream, runId: stream.runId }, kind: 'devkit' });
  const key = `${prefix}stream-${createHash('sha256').update(text).digest('hex')}`;
  await deps.blobs.put(stream, key, chunks, expiresAt);
  return { ref: `blob:${key}`, bytes: Buffer.byteLength(text) };
}

export interface ChunkPage {
  readonly data: readonly { readonly index: number; readonly data: JsonValue }[];
  readonly cursor: string | null;
  readonly hasMore: boolean;
  /** nothing follows the last chunk of this page */
  readonly done: boolean;
}

/** A stream that was not written yet is empty: its reader comes again. */
export async function readChunks(
  deps: ReadDeps,
  request: StreamRequest,
  { limit = defaultPage, cursor }: { readonly limit?: number; readonly cursor?: string },
): Promise<WorldResult<ChunkPage>> {
  if (cursor !== undefined && !/^\d{1,10}$/.test(cursor)) return refused('cursor_invalid', 'the cursor is not from this stream');
  const from = cursor === undefined ? 0 : Number(cursor);
  const stream = await readableStream(deps, request);
  const flushes = stream === undefined ? [] : await deps.devKitStreams.flushes(stream, from, limit + 1);
  const data: { readonly index: number; readonly data: JsonValue }[] = [];
  let bytes = 0;
  let isFull = false;
  for (const flush of flushes) {
    if (isFull) break;
    const chunks = await chunksOf(deps, request.scope, flush);
    for (const [offset, chunk] of chunks.entries()) {
      const index = flush.first + offset;
      if (index < from) continue;
      const found = await chunkInAnswer(deps, stream === undefined ? undefined : ownerOf(stream), chunk);
      bytes += Buffer.byteLength(JSON.stringify(found));
      isFull = data.length >= limit || (data.length > 0 && bytes > maxPageBytes);
      if (isFull) break;
      data.push({ index, data: found });
    }
  }
  const next = (data.at(-1)?.index ?? from - 1) + 1;
  const end = flushes.find(({ isLast }) => isLast === true);
  const known = flushes.at(-1);
  const hasMore = known !== undefined && next < known.first + known.count;
  return answer({ data, cursor: String(next), hasMore, done: end !== undefined && next >= end.first });
}

/** @param startIndex a negative one counts from the present end, as the Workflow DevKit has it */
export async function readFrom(
  deps: ReadDeps,
  request: StreamRequest,
  { startIndex = 0, limit }: { readonly startIndex?: number | undefined; readonly limit?: number | undefined },
): Promise<WorldResult<ChunkPage>> {
  let from = startIndex;
  if (startIndex < 0) {
    const info = await streamInfo(deps, request);
    if (info.kind === 'refused') return info;
    from = Math.max(0, info.value.tailIndex + 1 + startIndex);
  }
  return readChunks(deps, request, { cursor: String(from), ...(limit === undefined ? {} : { limit }) });
}

async function chunksOf(deps: ReadDeps, scope: Scope, { chunks }: StreamFlush): Promise<readonly JsonValue[]> {
  const value = 'ref' in chunks ? await deps.blobs.get(scope, chunks.ref.slice('blob:'.length)) : chunks.value;
  return isJsonArray(value) ? value : [];
}

async function readableStream(deps: ReadDeps, { scope, runId, name }: StreamRequest): Promise<StreamName | undefined> {
  if (name.startsWith(healthCheckPrefix)) return { ...scope, name };
  const given: RunId | undefined = runId !== undefined && runIdPattern.test(runId) ? toRunId(runId) : undefined;
  const owner = given ?? (await deps.devKitStreams.runOf(scope, name));
  return owner === undefined ? undefined : { ...scope, runId: owner, name };
}

export async function streamInfo(
  deps: ReadDeps,
  request: StreamRequest,
): Promise<WorldResult<{ readonly tailIndex: number; readonly done: boolean }>> {
  const stream = await readableStream(deps, request);
  const last = stream === undefined ? undefined : await deps.devKitStreams.last(stream);
  if (last === undefined) return answer({ tailIndex: -1, done: false });
  return answer({ tailIndex: last.first + last.count - 1, done: last.isLast === true });
}

export async function listStreams(
  { devKitStreams }: Pick<Deps, 'devKitStreams'>,
  scope: Scope,
  runId: string,
): Promise<WorldResult<readonly string[]>> {
  if (!runIdPattern.test(runId)) return answer([]);
  return answer(await devKitStreams.namesOf({ ...scope, runId: toRunId(runId) }));
}
