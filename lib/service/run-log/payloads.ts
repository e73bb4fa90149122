/** Offloads payloads (claim check): a value too large for a commit is written once outside the log and passed by reference. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { type LoadedPayloads, PayloadsNeeded } from '../../engine/graph/context.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue, Payload, PayloadRef } from '../../engine/json.ts';
import { truncateEvent, reportedFailure } from '../../engine/log/event-limits.ts';
import type { Failure, RunEvent } from '../../engine/log/events.ts';
import { type Head, type Side, isTestRun, sideOfKind } from '../../engine/log/head.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';

/** A value larger than this, compressed, goes to the bucket: above this size an object costs less than write units. */
export const maxInlineBytes = 8_192;
/** Limit before compression: folds, responses and a function's memory hold values uncompressed. */
export const maxInlineUncompressedBytes = 65_536;
/** A larger input is stored outside the head, because every update of the head is billed by the item's size. */
export const maxInputInHeadBytes = 500;
/** Compressed. A DynamoDB item holds 400 KB, and the head also contains an input and a projection. */
export const maxCommitBytes = 262_144;

const sizeOf = (text: string): number => Buffer.byteLength(text);
const compressedSizeOf = (text: string): number => gzipSync(text, { level: 1 }).length;
const isSmall = (text: string, limitBytes = maxInlineBytes): boolean =>
  sizeOf(text) <= limitBytes || (sizeOf(text) <= maxInlineUncompressedBytes && compressedSizeOf(text) <= limitBytes);

/** The run that owns a stored value. The value expires with it. */
type PayloadOwner = Pick<Head, 'address' | 'expiresAt' | 'kind'>;

/**
 * Key prefix of a run's values in the bucket. Runs of deployed code have a separate prefix, because the function that runs deployed
 * code may read and write only there. (No project id and no environment name contains a `~`.)
 */
export const blobPrefixOf = ({ address: { runId }, kind }: Pick<Head, 'address' | 'kind'>): string =>
  `${prefixOfSide[sideOfKind[kind]]}${runId}/`;
const prefixOfSide = { platform: '', code: '~code/', devkit: '~devkit/' } as const satisfies Record<Side, string>;
/** All prefixes that a run may use, when its kind is not known. */
export const blobPrefixesOf = (address: RunAddress): readonly string[] =>
  (['graph', 'code', 'devkit'] as const).map((kind) => blobPrefixOf({ address, kind }));

/** The payload for the log: the value itself, or a reference to the stored value. */
export async function offload(
  deps: Pick<Deps, 'blobs'>,
  run: PayloadOwner,
  payload: Payload,
  limitBytes = maxInlineBytes,
): Promise<Payload> {
  if (!('value' in payload)) return payload;
  const text = JSON.stringify(payload.value);
  if (isSmall(text, limitBytes)) return payload;
  // The key is the content's digest: equal values are stored once, and a repeated put changes nothing.
  const key = `${blobPrefixOf(run)}${createHash('sha256').update(text).digest('hex')}`;
  await deps.blobs.put(run.address, key, payload.value, run.expiresAt);
  return { ref: `blob:${key}`, bytes: sizeOf(text) };
}

/** The run's input: in the head if it is small, in a separate item if it fits one, otherwise in the bucket. */
export async function offloadInput(deps: Pick<Deps, 'blobs' | 'log'>, run: PayloadOwner, input: JsonValue): Promise<Payload> {
  const text = JSON.stringify(input);
  if (sizeOf(text) <= maxInputInHeadBytes) return { value: input };
  if (!isSmall(text)) return offload(deps, run, { value: input });
  return { ref: await deps.log.attach(run.address, 'input', input, run), bytes: sizeOf(text) };
}

/** Many small values may exceed a commit together. Each round offloads smaller values than the last. */
const minInlineLimitBytes = 128;
const inlineLimitsBytes = [maxInlineBytes, 1_024, minInlineLimitBytes] as const;

/** The decided events exceed a commit, and deciding again would not help: the committer ends the run with this failure. */
export class CommitTooLarge extends Error {
  override readonly name = 'CommitTooLarge';
  readonly failure: Failure;

  constructor(bytes: number, events: readonly RunEvent[]) {
    const types = [...new Set(events.map(({ type }) => type))].join(', ');
    super(`${events.length} events (${types}) have ${bytes} bytes compressed, but a commit holds at most ${maxCommitBytes}`);
    this.failure = reportedFailure({
      cause: 'invalid',
      code: 'commit_too_large',
      message: `${this.message}. Do less work in one step.`,
    });
  }
}

/**
 * Offloads the large values of the events, so that the events fit one item.
 * @throws CommitTooLarge when they do not fit
 */
export async function offloadEvents(
  deps: Pick<Deps, 'blobs'>,
  run: PayloadOwner,
  events: readonly RunEvent[],
): Promise<readonly RunEvent[]> {
  let offloaded: readonly RunEvent[] = events.map(truncateEvent);
  for (const limitBytes of inlineLimitsBytes) {
    offloaded = await Promise.all(
      offloaded.map(async (event) => {
        if (event.type === 'NODE_COMPLETED' || event.type === 'RUN_COMPLETED' || event.type === 'SLEEP_STARTED')
          return { ...event, output: await offload(deps, run, event.output, limitBytes) };
        if (event.type === 'LOOP_STARTED') return { ...event, pages: await offloadPages(deps, run, event.pages) };
        if (event.type === 'LOOP_RESULTS_STORED')
          return { ...event, results: await offload(deps, run, event.results, maxInlineLoopResultsBytes) };
        if (event.type === 'ITERATION_ENDED' && event.result !== undefined)
          return { ...event, result: await offload(deps, run, event.result, limitBytes) };
        if (event.type === 'SYSTEM_SET') return { ...event, value: await offload(deps, run, event.value, limitBytes) };
        if (event.type === 'DEVKIT')
          return event.payload === undefined ? event : { ...event, payload: await offload(deps, run, event.payload, limitBytes) };
        if (event.type === 'SUBFLOW_CALLED') return { ...event, input: await offload(deps, run, event.input, limitBytes) };
        return event.type === 'RUN_RESUMED' && event.payload !== undefined
          ? { ...event, payload: await offload(deps, run, event.payload, limitBytes) }
          : event;
      }),
    );
    const text = JSON.stringify(offloaded);
    if (isSmallCommit(text)) return offloaded;
    if (limitBytes === minInlineLimitBytes) throw new CommitTooLarge(compressedSizeOf(text), offloaded);
  }
  return offloaded;
}

/** A run's fold contains up to a hundred of these, and its snapshot should fit one item. */
const maxInlineLoopResultsBytes = 256;

/** The items of a loop: inline if all pages together are small, otherwise all offloaded. */
async function offloadPages(
  deps: Pick<Deps, 'blobs'>,
  run: PayloadOwner,
  pages: readonly Payload[],
): Promise<readonly Payload[]> {
  if (isSmall(JSON.stringify(pages))) return pages;
  return Promise.all(pages.map((page) => offload(deps, run, page, 0)));
}

const isSmallCommit = (text: string): boolean => sizeOf(text) <= maxCommitBytes || compressedSizeOf(text) <= maxCommitBytes;

/**
 * Loads a stored value. A missing value is a bug in Stepwell: no value expires before its run.
 * @throws Unavailable when a test run is being deleted, or the run has expired. The bucket may delete values before the table deletes
 * the run's items; a later request finds no run.
 */
export async function loadPayload(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  ref: PayloadRef,
): Promise<JsonValue> {
  const [storage, name] = [ref.slice(0, ref.indexOf(':')), ref.slice(ref.indexOf(':') + 1)];
  const value = await (storage === 'item' ? deps.log.attached(run, name) : deps.blobs.get(run, name));
  if (value === undefined && (await isBeingDeleted(deps, run)))
    throw new Unavailable(`the value ${ref} of ${run.runId}, which is being deleted,`);
  invariant(value !== undefined, `the stored value ${ref} of ${run.runId} is missing`);
  return value;
}

async function isBeingDeleted({ clock, log }: Pick<Deps, 'clock' | 'log'>, run: RunAddress): Promise<boolean> {
  const head = await log.head(run);
  return head === undefined || isTestRun(head) || head.expiresAt <= clock.now();
}

/** Leaves connections of the function free for other requests. */
const maxConcurrentLoads = 10;

/**
 * Calls `compute` until it needs no more stored values, and loads the values that it asks for between the calls.
 * `compute` starts again at each call, so it must read all values before it has any effect.
 */
export async function withPayloads<Result>(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  compute: (loaded: LoadedPayloads) => Result,
  loaded: Map<PayloadRef, JsonValue> = new Map(),
): Promise<Awaited<Result>> {
  for (;;) {
    try {
      return await compute(loaded);
    } catch (error) {
      if (!(error instanceof PayloadsNeeded)) throw error;
      await loadPayloads(deps, run, error.refs, loaded);
    }
  }
}

/** Loads the values that `loaded` does not contain yet. */
export async function loadPayloads(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  refs: readonly PayloadRef[],
  loaded: Map<PayloadRef, JsonValue>,
): Promise<void> {
  const missing = refs.filter((ref) => !loaded.has(ref));
  for (let start = 0; start < missing.length; start += maxConcurrentLoads) {
    await Promise.all(
      missing.slice(start, start + maxConcurrentLoads).map(async (ref) => loaded.set(ref, await loadPayload(deps, run, ref))),
    );
  }
}
