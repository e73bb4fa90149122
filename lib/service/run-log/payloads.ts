/** Values that are too large for a commit are written once beside the log, and passed by reference. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { LoadedPayloads } from '../../engine/graph/context-at.ts';
import { PayloadsNeeded } from '../../engine/graph/context.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { invariant } from '../../engine/invariant.ts';
import type { JsonValue, Payload, PayloadRef } from '../../engine/json.ts';
import { truncateEvent } from '../../engine/log/event-limits.ts';
import type { Failure, RunEvent } from '../../engine/log/events.ts';
import { reportedFailure } from '../../engine/log/failure-limits.ts';
import { type Head, isTestRun } from '../../engine/log/head.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';

/** A value larger than this, compressed, goes to the bucket: from there on an object is cheaper than its write units. */
export const maxInlineBytes = 8_192;
/** However well it is compressed: a fold, an answer and a function's memory hold values as they are. */
export const maxInlineUncompressedBytes = 65_536;
/** An input larger than this stays out of the head, which is written again at the end of the run. */
export const maxInputInHeadBytes = 500;
/** Of a commit, compressed: an item of DynamoDB holds 400 KB, and the head carries an input and a projection besides. */
export const maxCommitBytes = 262_144;

const sizeOf = (text: string): number => Buffer.byteLength(text);
const compressedSizeOf = (text: string): number => gzipSync(text, { level: 1 }).length;
const isSmall = (text: string, limitBytes = maxInlineBytes): boolean =>
  sizeOf(text) <= limitBytes || (sizeOf(text) <= maxInlineUncompressedBytes && compressedSizeOf(text) <= limitBytes);

/** The run that a value is stored for, and goes with. */
type PayloadOwner = Pick<Head, 'address' | 'expiresAt' | 'kind'>;

/**
 * What the names of a run's values in the bucket begin with. Those of code have a place of their own: the function that runs the code of
 * deployments may read and write there, and nowhere else. (No project and no environment holds a `~`.)
 */
export const blobPrefixOf = ({ address: { runId }, kind }: Pick<Head, 'address' | 'kind'>): string =>
  kind === 'graph' ? `${runId}/` : `~code/${runId}/`;
/** The same of a run that may be of any kind. */
export const blobPrefixesOf = (address: RunAddress): readonly string[] =>
  (['graph', 'code'] as const).map((kind) => blobPrefixOf({ address, kind }));

/** The payload to put into the log for a value: itself, or a reference to where it now stands. */
export async function offload(
  deps: Pick<Deps, 'blobs'>,
  run: PayloadOwner,
  payload: Payload,
  limitBytes = maxInlineBytes,
): Promise<Payload> {
  if (!('value' in payload)) return payload;
  const text = JSON.stringify(payload.value);
  if (isSmall(text, limitBytes)) return payload;
  // The name is the content: the same value is stored once, and a repeated put changes nothing.
  const key = `${blobPrefixOf(run)}${createHash('sha256').update(text).digest('hex')}`;
  await deps.blobs.put(run.address, key, payload.value, run.expiresAt);
  return { ref: `blob:${key}`, bytes: sizeOf(text) };
}

/** The run's input: in the head where it is small, an item of its own where it fits one, else an object of the bucket. */
export async function offloadInput(deps: Pick<Deps, 'blobs' | 'log'>, run: PayloadOwner, input: JsonValue): Promise<Payload> {
  const text = JSON.stringify(input);
  if (sizeOf(text) <= maxInputInHeadBytes) return { value: input };
  if (!isSmall(text)) return offload(deps, run, { value: input });
  return { ref: await deps.log.attach(run.address, 'input', input, run), bytes: sizeOf(text) };
}

/** Where many values are small and all together are not: what is left in the commit is made smaller and smaller. */
const minInlineLimitBytes = 128;
const inlineLimitsBytes = [maxInlineBytes, 1_024, minInlineLimitBytes] as const;

/** What was decided fits no commit, and will not the next time: whoever commits ends the run by the failure. */
export class CommitTooLarge extends Error {
  override readonly name = 'CommitTooLarge';
  readonly failure: Failure;

  constructor(bytes: number, events: readonly RunEvent[]) {
    const types = [...new Set(events.map(({ type }) => type))].join(', ');
    super(`${events.length} events (${types}) have ${bytes} bytes together, compressed, and a commit at most ${maxCommitBytes}`);
    this.failure = reportedFailure({ cause: 'invalid', code: 'commit_too_large', message: `${this.message}: do less at once` });
  }
}

/**
 * The events with every large value stored apart, so that they fit one item.
 * @throws CommitTooLarge where they do not
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

/** There are up to a hundred of these beside each other in the fold of a run, whose snapshot is one item. */
const maxInlineLoopResultsBytes = 256;

/** The items of a loop: in place where all of them are small together. */
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
 * Loads a stored value. That it is gone is our bug: nothing of a run expires before the run.
 * @throws Unavailable where the run is a test that is being stopped, or has expired: the bucket may delete its values before the
 * table deletes its items, and a later request finds no run
 */
export async function loadPayload(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  ref: PayloadRef,
): Promise<JsonValue> {
  const [storage, name] = [ref.slice(0, ref.indexOf(':')), ref.slice(ref.indexOf(':') + 1)];
  const value = await (storage === 'item' ? deps.log.attached(run, name) : deps.blobs.get(run, name));
  if (value === undefined && (await isBeingDeleted(deps, run))) throw new Unavailable(`the value ${ref} of ${run.runId}`);
  invariant(value !== undefined, `the stored value ${ref} of ${run.runId} is gone`);
  return value;
}

async function isBeingDeleted({ clock, log }: Pick<Deps, 'clock' | 'log'>, run: RunAddress): Promise<boolean> {
  const head = await log.head(run);
  return head === undefined || isTestRun(head) || head.expiresAt <= clock.now();
}
/** A function has few connections, and others need some. */
const maxConcurrentLoads = 10;

/**
 * Asks a question again and again until it needs no more stored values, loading what it asks for in between.
 * The question must read before it acts: it starts anew each time.
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

/** Loads what is not there yet. */
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
