/** Values that are too large for a commit are written once beside the log, and passed by reference. */
import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { LoadedPayloads } from '../engine/graph/context-at.ts';
import { PayloadsNeeded } from '../engine/graph/context.ts';
import type { RunAddress } from '../engine/ids.ts';
import { invariant } from '../engine/invariant.ts';
import type { JsonValue, Payload, PayloadRef } from '../engine/json.ts';
import type { RunEvent } from '../engine/log/events.ts';
import type { Instant } from '../engine/time.ts';
import type { Deps } from './deps.ts';

/** A value larger than this, compressed, goes to the bucket: from there on an object is cheaper than its write units. */
export const largestInItemBytes = 8_192;
/** An input larger than this stays out of the head, which is written again at the end of the run. */
export const largestInHeadBytes = 600;

const sizeOf = (text: string): number => Buffer.byteLength(text);
const isSmall = (text: string): boolean =>
  sizeOf(text) <= largestInItemBytes || gzipSync(text, { level: 1 }).length <= largestInItemBytes;

/** The payload to put into the log for a value: itself, or a reference to where it now stands. */
async function spill(deps: Pick<Deps, 'blobs'>, run: RunAddress, payload: Payload): Promise<Payload> {
  if (!('value' in payload)) return payload;
  const text = JSON.stringify(payload.value);
  if (isSmall(text)) return payload;
  // The name is the content: the same value is stored once, and a repeated put changes nothing.
  const key = `${run.runId}/${createHash('sha256').update(text).digest('hex')}`;
  await deps.blobs.put(run, key, payload.value);
  return { ref: `blob:${key}`, bytes: sizeOf(text) };
}

/** The run's input: in the head where it is small, an item of its own where it fits one, else an object of the bucket. */
export async function spillInput(
  deps: Pick<Deps, 'blobs' | 'log'>,
  run: RunAddress,
  input: JsonValue,
  expiresAt: Instant,
): Promise<Payload> {
  const text = JSON.stringify(input);
  if (sizeOf(text) <= largestInHeadBytes) return { value: input };
  if (!isSmall(text)) return spill(deps, run, { value: input });
  return { ref: await deps.log.attach(run, 'input', input, expiresAt), bytes: sizeOf(text) };
}

/** The events with every large value stored apart. */
export async function spillEvents(
  deps: Pick<Deps, 'blobs'>,
  run: RunAddress,
  events: readonly RunEvent[],
): Promise<readonly RunEvent[]> {
  return Promise.all(
    events.map(async (event) => {
      switch (event.type) {
        case 'NODE_COMPLETED':
        case 'RUN_COMPLETED':
          return { ...event, output: await spill(deps, run, event.output) };
        default:
          return event;
      }
    }),
  );
}

/** Loads a stored value. That it is gone is our bug: nothing of a run expires before the run. */
export async function load(deps: Pick<Deps, 'blobs' | 'log'>, run: RunAddress, ref: PayloadRef): Promise<JsonValue> {
  const [place, name] = [ref.slice(0, ref.indexOf(':')), ref.slice(ref.indexOf(':') + 1)];
  const value = await (place === 'item' ? deps.log.attached(run, name) : deps.blobs.get(run, name));
  invariant(value !== undefined, `the stored value ${ref} of ${run.runId} is gone`);
  return value;
}

/**
 * Asks a question again and again until it needs no more stored values, loading what it asks for in between.
 * The question must read before it acts: it starts anew each time.
 */
export async function withPayloads<Answer>(
  deps: Pick<Deps, 'blobs' | 'log'>,
  run: RunAddress,
  question: (loaded: LoadedPayloads) => Answer,
  loaded: Map<PayloadRef, JsonValue> = new Map(),
): Promise<Awaited<Answer>> {
  for (;;) {
    try {
      return await question(loaded);
    } catch (trouble) {
      if (!(trouble instanceof PayloadsNeeded)) throw trouble;
      for (const ref of trouble.refs) loaded.set(ref, await load(deps, run, ref));
    }
  }
}
