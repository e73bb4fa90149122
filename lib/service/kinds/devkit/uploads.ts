/**
 * Values that are too large for a request. The client uploads the bytes to a presigned URL of the bucket. Its event then names them by
 * their digest, and the upload is copied to the values of the run.
 *
 * A digest gives no access to bytes: the key of an upload has the project, the environment and the run of the request. The API key
 * decides the first two. So a digest finds only what a key of this scope has uploaded for this run, and a key that may write to a run
 * may also read it. The answer is the same for a digest that exists elsewhere and for one that exists nowhere. The store has compared
 * the bytes with the digest at the upload. A presigned URL cannot change a value that an event refers to, because that is a copy.
 *
 * An upload that no event names expires after a day. A copy expires with its run, as all values of the run.
 */
import { uploadNamedBy } from '../../../codec/stored-tag.ts';
import type { RunAddress, Scope } from '../../../engine/ids.ts';
import { runId as toRunId, runIdPattern } from '../../../engine/ids.ts';
import { runIdError } from '../../../engine/devkit/run-id.ts';
import type { WorldRequest } from '../../../engine/devkit/decide.ts';
import { payloadFields } from '../../../engine/devkit/events.ts';
import { type JsonObject, type JsonValue, type Payload, isJsonArray, isJsonObject } from '../../../engine/json.ts';
import { defaultDeadline, expiryOf } from '../../../engine/log/head.ts';
import { type Instant, after, days, iso, minutes } from '../../../engine/time.ts';
import { type UploadedContent, isUploadedKey, uploadedKey } from '../../../ports/uploads.ts';
import type { Deps } from '../../deps.ts';
import { blobPrefixOf, loadPayload } from '../../run-log/payloads.ts';
import { type WorldError, type WorldResult, answer, invalid, noRun, refused } from './world-error.ts';

/** The largest serialized value: the DevKit writes 50 MB of bytes as 67 MB of base64, and the code of a run holds both in memory. */
export const maxValueBytes = 75_000_000;
/** How long a presigned URL is valid. */
export const addressLifetime = minutes(15);
/** How long the bucket keeps an upload that no event names, at least. */
export const uploadRetention = days(1);
/** Above this size an answer has the address of a value: an answer can have three values and a page of events, and at most 6 MB. */
export const maxInlineAnswerBytes = 786_432;

/** The same for an answer with several entities, each with up to three values. */
export const inlineLimitOf = (entities: number): number => Math.floor(maxInlineAnswerBytes / Math.max(1, entities));

type UploadDeps = Pick<Deps, 'clock' | 'log' | 'uploads'>;
type KeepDeps = Pick<Deps, 'blobs' | 'clock' | 'log' | 'settings'>;
type ReadDeps = Pick<Deps, 'blobs' | 'clock' | 'log' | 'uploads'>;

const prefixOf = (address: RunAddress): string => blobPrefixOf({ address, kind: 'devkit' });
/** Another size is another upload: the store compares the bytes with both. */
const uploadKey = (address: RunAddress, { sha256, bytes }: UploadedContent): string =>
  `${prefixOf(address)}upload-${sha256}-${bytes}`;

export interface UploadRequest extends UploadedContent {
  readonly scope: Scope;
  readonly runId: string;
}

interface UploadView {
  readonly method: 'PUT';
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly expiresAt: { readonly $date: string };
}

export async function createUpload(
  { clock, log, uploads }: UploadDeps,
  { scope, runId, ...content }: UploadRequest,
): Promise<WorldResult<{ readonly upload: UploadView }>> {
  if (!runIdPattern.test(runId)) return noRun;
  if (content.bytes > maxValueBytes)
    return refused('payload_too_large', `the value has ${content.bytes} bytes, and a value has at most ${maxValueBytes}`);
  const run = { ...scope, runId: toRunId(runId) };
  const now = clock.now();
  // The input of a run is uploaded before the run exists.
  const wrong = (await log.head(run)) === undefined ? runIdError(run.runId, now) : undefined;
  if (wrong !== undefined) return invalid('/runId', wrong);
  const until = { expiresAt: after(now, addressLifetime), keptUntil: after(now, uploadRetention) };
  const { method, url, headers, expiresAt } = await uploads.presignUpload(scope, uploadKey(run, content), content, until);
  return answer({ upload: { method, url, headers: { ...headers }, expiresAt: { $date: iso(expiresAt) } } });
}

const isTag = (value: JsonValue | undefined): value is JsonObject =>
  isJsonObject(value) && '$stored' in value && Object.keys(value).length === 1;

/** Whether a part of the value names an upload. In `$object` are a caller's own properties. */
function namesUpload(value: JsonValue | undefined): boolean {
  if (isJsonArray(value)) return value.some((each: JsonValue) => namesUpload(each));
  if (!isJsonObject(value)) return false;
  if (isTag(value)) return true;
  const escaped = Object.keys(value).length === 1 ? value['$object'] : undefined;
  return Object.values<JsonValue>(isJsonObject(escaped) ? escaped : value).some((each) => namesUpload(each));
}

/**
 * The request with the value that was uploaded for it.
 * @param pointer where the request has its value
 */
export async function withUpload(
  deps: KeepDeps,
  run: RunAddress,
  request: WorldRequest,
  pointer = `/data/eventData/${payloadFields[request.event] ?? ''}`,
): Promise<WorldRequest | WorldError> {
  const { payload, data } = request;
  const value = payload !== undefined && 'value' in payload ? payload.value : undefined;
  if (namesUpload(data)) return invalid('/data/eventData', `only ${pointer} can be an uploaded value`);
  if (!namesUpload(value)) return request;
  const kept = await keepUpload(deps, run, value, pointer);
  return 'code' in kept ? kept : { ...request, payload: kept };
}

/** Copies the upload that the tag names to the values of the run. @param pointer of the tag in the request */
async function keepUpload(
  deps: KeepDeps,
  run: RunAddress,
  tag: JsonValue | undefined,
  pointer: string,
): Promise<Extract<Payload, { ref: unknown }> | WorldError> {
  const content = uploadNamedBy(tag);
  if (content === undefined) return invalid(pointer, 'an uploaded value is its sha256 and its bytes, and nothing else');
  const key = uploadedKey(prefixOf(run), content.sha256);
  const isKept = await deps.blobs.copy(run, uploadKey(run, content), key, await expiryFor(deps, run));
  if (!isKept) return refused('upload_not_found', `${pointer}: no upload of these bytes for this run was found`);
  return { ref: `blob:${key}`, bytes: jsonBytesOf(content) };
}

/** A run that does not exist yet is created by this request, some moments later. */
async function expiryFor({ clock, log, settings }: KeepDeps, run: RunAddress): Promise<Instant> {
  const head = await log.head(run);
  const createdAt = after(clock.now(), minutes(15));
  return head?.expiresAt ?? expiryOf({ createdAt, deadlineAt: after(createdAt, defaultDeadline) }, settings.retentionMs);
}

/** The length of `{"$bytes":"<base64>"}`. */
const jsonBytesOf = ({ bytes }: UploadedContent): number => 4 * Math.ceil(bytes / 3) + '{"$bytes":""}'.length;

/** An address in an answer, with the credentials of a session. */
const addressBytes = 2_048;
/** What the value adds to an answer. */
export const answerBytesOf = (payload: Payload, limitBytes = maxInlineAnswerBytes): number => {
  if ('value' in payload) return Buffer.byteLength(JSON.stringify(payload.value));
  return payload.bytes > limitBytes ? addressBytes : payload.bytes;
};

/** A value in an answer: itself, or where the client gets it. */
export async function valueInAnswer(
  deps: ReadDeps,
  run: RunAddress,
  payload: Payload,
  limitBytes = maxInlineAnswerBytes,
): Promise<JsonValue> {
  if ('value' in payload) return payload.value;
  const { ref, bytes } = payload;
  if (bytes <= limitBytes || !ref.startsWith('blob:')) return loadPayload(deps, run, ref);
  return addressOf(deps, run, ref.slice('blob:'.length));
}

async function addressOf({ clock, uploads }: Pick<Deps, 'clock' | 'uploads'>, scope: Scope, key: string): Promise<JsonObject> {
  const url = await uploads.presignDownload(scope, key, after(clock.now(), addressLifetime));
  return { $stored: { url, format: isUploadedKey(key) ? 'bytes' : 'json' } };
}

/** An uploaded chunk of a stream, as the answer of a reader has it. Every other chunk is itself. */
export async function chunkInAnswer(
  deps: Pick<Deps, 'clock' | 'uploads'>,
  run: RunAddress | undefined,
  chunk: JsonValue,
): Promise<JsonValue> {
  const content = uploadNamedBy(chunk);
  if (run === undefined || content === undefined) return chunk;
  return addressOf(deps, run, uploadedKey(prefixOf(run), content.sha256));
}

/** The chunks for a stream, after their uploads are kept. */
export async function keepChunks(
  deps: KeepDeps,
  run: RunAddress | undefined,
  chunks: readonly JsonValue[],
): Promise<WorldError | undefined> {
  for (const [index, chunk] of chunks.entries()) {
    if (!namesUpload(chunk)) continue;
    if (run === undefined) return invalid(`/chunks/${index}`, 'a stream without a run has no uploaded chunks');
    const kept = await keepUpload(deps, run, chunk, `/chunks/${index}`);
    if ('code' in kept) return kept;
  }
  return undefined;
}

export const refuseUploads = (message: JsonValue, pointer: string): WorldError | undefined =>
  namesUpload(message) ? invalid(pointer, 'only /message/runInput/input can be an uploaded value') : undefined;
