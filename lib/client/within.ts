/** Waiting that has an end, without a clock: what is waited for races a sleep, and whichever ends first ends the other. */
import type { Sleep } from './options.ts';

export type Ended<Value> = { readonly isInTime: true; readonly value: Value } | { readonly isInTime: false };

/**
 * @param ms after which `work` is told to stop, and waited for no longer
 * @param outer the caller's own wish to stop; its reason is thrown then
 */
export const within = async <Value>(
  ms: number,
  { sleep, signal: outer }: { readonly sleep: Sleep; readonly signal: AbortSignal | undefined },
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Ended<Value>> => {
  outer?.throwIfAborted();
  const inner = new AbortController();
  const stop = (): void => inner.abort(outer?.reason);
  outer?.addEventListener('abort', stop);
  try {
    const first = await Promise.race([
      work(inner.signal).then((value) => ({ isInTime: true as const, value })),
      sleep(ms, inner.signal).then(() => ({ isInTime: false as const })),
    ]);
    if (!first.isInTime) outer?.throwIfAborted();
    return first;
  } catch (trouble) {
    outer?.throwIfAborted();
    throw trouble;
  } finally {
    outer?.removeEventListener('abort', stop);
    inner.abort();
  }
};

/** @throws the signal's reason once it is aborted */
export const pause = async (sleep: Sleep, ms: number, signal: AbortSignal | undefined): Promise<void> => {
  signal?.throwIfAborted();
  await sleep(ms, signal ?? new AbortController().signal);
  signal?.throwIfAborted();
};

const longestPauseMs = 5_000;

/** Half as long again, so that what takes long is not asked for every moment: a key's requests are counted. */
export const longer = (ms: number): number => Math.max(ms, Math.min(longestPauseMs, Math.round(ms * 1.5)));
