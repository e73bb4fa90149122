/**
 * Large values of a World. What does not fit a request is uploaded to a presigned URL, and the request names it by its digest. An answer
 * has the address of a value that does not fit, and the value is fetched from there.
 */
import { createHash } from 'node:crypto';
import { type RetryPolicy, retryOutcome } from '../base/retry.ts';
import { parseAnswer } from './answers.ts';
import type { CallBody, CallResult, WorldMethod, WorldTransport } from './calls.ts';
import { StoredValue, type TaggedValue, decodeTagged } from './tagged-json.ts';

/** Of all bytes in one request, before base64. API Gateway takes 10 MB, Lambda 6 MB, and a value can be in the request twice. */
export const maxBytesInRequest = 3_000_000;
/** Values that are fetched at once: each one can have 75 MB. */
const maxFetches = 4;
const retryLimits = { attempts: 4, backoff: { baseMs: 200, factor: 3, jitter: 0.5 } } as const;
/** of one attempt */
const transferTimeoutMs = 300_000;

const methodsWithValues: readonly WorldMethod[] = ['events.create', 'events.createBatch', 'streams.write', 'queue.publish'];

export interface TransferTools {
  readonly fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly sleep: (ms: number) => Promise<unknown>;
  /** from 0 up to 1 */
  readonly random: () => number;
}

const systemTransfers: TransferTools = {
  fetch: (url, init) => fetch(url, init),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  random: Math.random,
};

type Failed = Exclude<CallResult, { readonly kind: 'answered' }>;

export class LargeValues implements WorldTransport {
  readonly #inner: WorldTransport;
  readonly #tools: TransferTools;

  constructor(inner: WorldTransport, tools: TransferTools = systemTransfers) {
    this.#inner = inner;
    this.#tools = tools;
  }

  async call(method: WorldMethod, body: CallBody): Promise<CallResult> {
    const sent = methodsWithValues.includes(method) ? await this.#upload(method, body) : { body };
    if ('kind' in sent) return sent;
    const result = await this.#inner.call(method, sent.body);
    if (result.kind !== 'answered') return result;
    return this.#fetchAll(result.value);
  }

  /** The body, with the largest values uploaded until the others fit. */
  async #upload(method: WorldMethod, body: CallBody): Promise<{ readonly body: CallBody } | Failed> {
    const values = [...new Set(bytesIn(body))].toSorted((one, other) => other.byteLength - one.byteLength);
    let rest = values.reduce((sum, { byteLength }) => sum + byteLength, 0);
    const uploaded = new Map<Uint8Array, StoredValue>();
    for (const value of values) {
      if (rest <= maxBytesInRequest) break;
      const stored = await this.#uploadOne(runIdOf(method, body), value);
      if (!(stored instanceof StoredValue)) return stored;
      uploaded.set(value, stored);
      rest -= value.byteLength;
    }
    return { body: uploaded.size === 0 ? body : replaced(body, uploaded) };
  }

  async #uploadOne(runId: string | undefined, value: Uint8Array): Promise<StoredValue | Failed> {
    if (runId === undefined) return tooLarge(`a value of ${value.byteLength} bytes needs a request with the id of its run`);
    const sha256 = createHash('sha256').update(value).digest('hex');
    const content = { sha256, bytes: value.byteLength };
    const result = await this.#inner.call('uploads.create', { runId, ...content });
    if (result.kind !== 'answered') return result;
    const { method, url, headers } = parseAnswer.upload(result.value).upload;
    const request = { method, headers, body: unsharedOf(value) };
    const sent = await this.#transfer(url, request, async () => null);
    return 'kind' in sent ? sent : new StoredValue(content);
  }

  async #fetchAll(answer: TaggedValue): Promise<CallResult> {
    const stored = [...storedIn(answer)];
    const found = new Map<StoredValue, TaggedValue>();
    for (let start = 0; start < stored.length; start += maxFetches) {
      const fetched = await Promise.all(
        stored.slice(start, start + maxFetches).map(async (each) => [each, await this.#fetchOne(each)] as const),
      );
      for (const [each, value] of fetched) {
        if ('failure' in value) return value.failure;
        found.set(each, value.value);
      }
    }
    return { kind: 'answered', value: found.size === 0 ? answer : withFound(answer, found) };
  }

  async #fetchOne({ content }: StoredValue): Promise<{ readonly value: TaggedValue } | { readonly failure: Failed }> {
    const { url, format } = content;
    if (typeof url !== 'string') return { failure: unreadable('the answer has a value without an address') };
    const read = async (response: Response): Promise<TaggedValue> => {
      const bytes = await bytesOf(response);
      return format === 'bytes' ? bytes : decodeTagged(JSON.parse(Buffer.from(bytes).toString('utf8')));
    };
    const got = await this.#transfer(url, { method: 'GET' }, read);
    return 'kind' in got ? { failure: got } : got;
  }

  async #transfer(
    url: string,
    request: RequestInit,
    read: (response: Response) => Promise<TaggedValue>,
  ): Promise<{ readonly value: TaggedValue } | Failed> {
    type Outcome =
      | { readonly value: TaggedValue }
      | { readonly error: string; readonly isFinal: boolean; readonly cause?: unknown };
    const policy: RetryPolicy<Outcome> = { ...retryLimits, isRetryable: (outcome) => 'error' in outcome && !outcome.isFinal };
    const attempt = async (): Promise<Outcome> => {
      try {
        const signal = AbortSignal.timeout(transferTimeoutMs);
        const response = await this.#tools.fetch(url, { ...request, redirect: 'manual', signal });
        if (response.ok) return { value: await read(response) };
        // The body can repeat the signed request, so only its code is kept.
        const code = /<Code>(\w{1,64})<\/Code>/.exec(await response.text())?.[1] ?? '';
        return { error: `status ${response.status} ${code}`.trim(), isFinal: response.status < 500 && response.status !== 429 };
      } catch (cause) {
        return { error: 'the connection was interrupted', isFinal: false, cause };
      }
    };
    const outcome = await retryOutcome(attempt, policy, this.#tools);
    if ('value' in outcome) return outcome;
    const what = request.method === 'PUT' ? 'upload' : 'download';
    // The SDK repeats what failed on the way, and the repetition gets a new address.
    const message = `the ${what} of a large value failed: ${outcome.error}`;
    return { kind: 'failed', reason: 'transport', message, cause: outcome.cause };
  }
}

/** A view of the same memory, if it is not shared: `fetch` takes no bytes of a shared buffer. */
const unsharedOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Uint8Array<ArrayBuffer> =>
  buffer instanceof ArrayBuffer
    ? new Uint8Array(buffer, byteOffset, byteLength)
    : new Uint8Array(new Uint8Array(buffer, byteOffset, byteLength));

/** The bytes of the body, which are in memory once: `arrayBuffer()` has them as its chunks and as a whole. */
async function bytesOf(response: Response): Promise<Uint8Array> {
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  const isEncoded = response.headers.get('content-encoding') !== null;
  if (!Number.isInteger(length) || isEncoded || response.body === null) return new Uint8Array(await response.arrayBuffer());
  const bytes = new Uint8Array(length);
  let at = 0;
  for await (const chunk of response.body) {
    if (at + chunk.byteLength > length) throw new Error(`the value has more than its ${length} bytes`);
    bytes.set(chunk, at);
    at += chunk.byteLength;
  }
  if (at < length) throw new Error(`the value ended after ${at} of ${length} bytes`);
  return bytes;
}

const tooLarge = (message: string): Failed => ({ kind: 'refused', status: 413, code: 'payload_too_large', message });
const unreadable = (message: string): Failed => ({ kind: 'refused', status: 502, code: 'UNREADABLE_ANSWER', message });

function runIdOf(method: WorldMethod, { runId, message }: CallBody): string | undefined {
  const owner = method === 'queue.publish' && isRecord(message) ? (message['runId'] ?? message['workflowRunId']) : runId;
  return typeof owner === 'string' ? owner : undefined;
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isPlain = (value: unknown): value is Readonly<Record<string, unknown>> =>
  isRecord(value) && !(value instanceof Uint8Array) && !(value instanceof Date) && !(value instanceof StoredValue);

function* bytesIn(value: unknown): Generator<Uint8Array> {
  if (value instanceof Uint8Array) yield value;
  else if (Array.isArray(value)) for (const each of value) yield* bytesIn(each);
  else if (isPlain(value)) for (const each of Object.values(value)) yield* bytesIn(each);
}

function* storedIn(value: TaggedValue): Generator<StoredValue> {
  if (value instanceof StoredValue) yield value;
  else if (Array.isArray(value)) for (const each of value) yield* storedIn(each);
  else if (isTaggedObject(value)) for (const each of Object.values(value)) yield* storedIn(each);
}

const isTaggedObject = (value: TaggedValue): value is { readonly [key: string]: TaggedValue } => isPlain(value);

/** The value with each of these bytes as what was uploaded. */
function mapped(value: unknown, uploaded: ReadonlyMap<Uint8Array, StoredValue>): unknown {
  if (value instanceof Uint8Array) return uploaded.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each: unknown) => mapped(each, uploaded));
  return isPlain(value) ? replaced(value, uploaded) : value;
}

const replaced = (body: CallBody, uploaded: ReadonlyMap<Uint8Array, StoredValue>): CallBody =>
  Object.fromEntries(Object.entries(body).map(([name, each]) => [name, mapped(each, uploaded)]));

function withFound(value: TaggedValue, found: ReadonlyMap<StoredValue, TaggedValue>): TaggedValue {
  if (value instanceof StoredValue) return found.get(value) ?? value;
  if (Array.isArray(value)) return value.map((each: TaggedValue) => withFound(each, found));
  if (!isTaggedObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withFound(each, found)]));
}
