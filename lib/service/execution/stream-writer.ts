/**
 * What a node says while it is at work reaches its stream. It gathers, so that fast tokens cost few writes, and never holds
 * the node up. Deltas are a courtesy: where they cannot be written there are none, and the completion carries the whole.
 */
import type { Attempt, Nonce, NodeKey, RunAddress } from '../../engine/ids.ts';
import { type Instant, durationMs } from '../../engine/time.ts';
import type { Delta, DeltaPut } from '../../ports/streams.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';

/**
 * After each write, whatever its size. Three a second leave room for the one that ends the stream and waits for nothing: at
 * most four in any second, and no attempt's outcome is held up for the count. The first one waits for nothing.
 */
export const minWriteInterval = durationMs(334);
/** In UTF-16 units, of one delta: far below what an item holds. */
const maxDeltaLength = 65_536;
/** Said and not written yet. More means that nothing can be written, and the rest is not kept in memory for that. */
const maxPendingLength = 1_048_576;
/** Tries of one put whose outcome stays unknown. */
const maxPutAttempts = 5;
/** How often a new owner may find that the old one was quicker. */
const maxTakeovers = 5;

export interface StreamWriter {
  /** Comes back at once. What is said after the end is not heard. */
  readonly append: (text: string) => void;
  /** Writes what is left. To be awaited before the attempt's outcome is committed. */
  end(): Promise<void>;
}

export interface StreamSource {
  readonly run: RunAddress;
  readonly node: NodeKey;
  readonly attempt: Attempt;
  /** the run's */
  readonly expiresAt: Instant;
}

/** The voice of one execution of one attempt. Silent, it reads and writes nothing. */
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
      // Half a character may have been held back for its other half.
      if (!isClosed && pending !== '') await pump();
      if (error !== undefined) throw error;
    },
  };
}

/** Whether the text would be cut between the two halves of one character. */
const splitsCharacter = (text: string, end: number): boolean => /[\ud800-\udbff]/.test(text.charAt(end - 1));

/**
 * Writes one delta after the other; false where there is to be none any more. A put that meets another owner's delta has one
 * of two reasons: somebody has spoken before, and this one goes on behind them; or, once this one has written, somebody newer
 * has taken over.
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
    for (let attempts = 1; ; attempts += 1) {
      try {
        return await streams.put(run, node, delta, expiresAt);
      } catch (reason) {
        if (!(reason instanceof Unavailable)) throw reason;
        if (attempts === maxPutAttempts || ending.aborted) return undefined;
        await clock.sleep(minWriteInterval, ending);
      }
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
