/**
 * Writes a node's partial output to its stream while the node runs. It coalesces fast tokens into few writes and never blocks the node.
 * Deltas are best effort: if they cannot be written, the node's completion still contains the whole output.
 */
import { type RetryLimits, retry } from '../../../base/retry.ts';
import type { Attempt, Nonce, NodeKey, RunAddress } from '../../../engine/ids.ts';
import { type Instant, durationMs } from '../../../engine/time.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import type { Delta, DeltaPut } from '../../../ports/watching.ts';
import type { Deps } from '../../deps.ts';

/**
 * Pause after each write: three writes a second. The last write of a stream does not wait, so at most four fall into one second, and
 * no attempt's outcome is delayed by this limit. The first write does not wait either.
 */
export const minWriteInterval = durationMs(334);
/** In UTF-16 units, of one delta: far below the size of an item. */
export const maxDeltaLength = 65_536;
/** Appended but not yet written. A longer backlog means that writes fail, so the writer stops instead of using more memory. */
export const maxPendingLength = 1_048_576;
/** Attempts at one put while its outcome is unknown. */
const putLimits: RetryLimits = { attempts: 5, backoff: { baseMs: minWriteInterval, factor: 1 } };
/** Rounds in which the old owner may write before the new owner does. */
const maxTakeovers = 5;

export interface StreamWriter {
  /** Returns at once. It ignores text that is appended after `end`. */
  readonly append: (text: string) => void;
  /** Writes the remaining text. Await it before the attempt's outcome is committed. */
  end(): Promise<void>;
}

export interface StreamSource {
  readonly run: RunAddress;
  readonly node: NodeKey;
  readonly attempt: Attempt;
  /** when the run's items expire */
  readonly expiresAt: Instant;
}

/** Opens the stream writer of one execution of an attempt. Without appended text it reads and writes nothing. */
export function openStreamWriter(deps: Pick<Deps, 'streams' | 'clock' | 'ids'>, source: StreamSource): StreamWriter {
  const ending = new AbortController();
  let pending = '';
  let isClosed = false;
  let error: unknown;
  let pumping: Promise<void> | undefined;
  const writer = deltaWriterOf(deps, source, ending.signal);

  async function pump(): Promise<void> {
    for (let text = take(); text !== ''; text = take()) {
      if (!(await writer(text))) {
        isClosed = true;
        break;
      }
      await deps.clock.sleep(minWriteInterval, ending.signal);
    }
    pumping = undefined;
  }
  function take(): string {
    const end = Math.min(pending.length, maxDeltaLength);
    const text = pending.slice(
      0,
      splitsCharacter(pending, end) && !(ending.signal.aborted && end === pending.length) ? end - 1 : end,
    );
    pending = pending.slice(text.length);
    return text;
  }
  return {
    append(text) {
      if (isClosed || ending.signal.aborted || text === '') return;
      pending += text;
      if (pending.length > maxPendingLength) isClosed = true;
      pumping ??= pump().catch((reason: unknown) => {
        isClosed = true;
        error = reason;
      });
    },
    async end() {
      ending.abort();
      await pumping;
      // The first half of a surrogate pair may still be pending.
      if (!isClosed && pending !== '') await pump();
      if (error !== undefined) throw error;
    },
  };
}

/** Whether a cut at `end` would split a surrogate pair. */
const splitsCharacter = (text: string, end: number): boolean => /[\ud800-\udbff]/.test(text.charAt(end - 1));

/**
 * Returns a function that writes deltas in order; it returns false when the writer must stop. A put that finds another owner's delta
 * has one of two causes. Before this writer's first write, an earlier writer has written, and this one continues after it. After that,
 * a newer writer has taken over, and this one stops.
 */
function deltaWriterOf(
  { streams, clock, ids }: Pick<Deps, 'streams' | 'clock' | 'ids'>,
  source: StreamSource,
  ending: AbortSignal,
) {
  const { run, node, attempt, expiresAt } = source;
  let owner: Nonce | undefined;
  let next = 0;
  let hasWritten = false;

  async function put(delta: Delta): Promise<DeltaPut | undefined> {
    try {
      return await retry(
        () => streams.put(run, node, delta, expiresAt),
        { ...putLimits, isRetryable: (error) => error instanceof Unavailable && !ending.aborted },
        { sleep: (ms) => clock.sleep(durationMs(ms), ending) },
      );
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
      return undefined;
    }
  }
  return async (text: string): Promise<boolean> => {
    owner ??= ids.nonce();
    for (let takeovers = 0; takeovers <= maxTakeovers; takeovers += 1) {
      const result = await put({ index: next, attempt, owner, text, at: clock.now() });
      if (result === undefined) return false;
      if (result.kind === 'stored' || result.owner === owner) {
        next += 1;
        hasWritten = true;
        return true;
      }
      if (hasWritten) return false;
      const last = await streams.last(run, node).catch(undefinedIfUnavailable);
      if (last === undefined) return false;
      next = last.index + 1;
    }
    return false;
  };
}

const undefinedIfUnavailable = (reason: unknown): undefined => {
  if (!(reason instanceof Unavailable)) throw reason;
};
