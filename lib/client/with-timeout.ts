/** Waiting that has an end, without a clock: what is waited for races a sleep, and whichever ends first ends the other. */
import type { Sleep } from './options.ts';

export type TimeLimited<Value> = { readonly isInTime: true; readonly value: Value } | { readonly isInTime: false };

/**
 * @param ms after which `work` is told to stop, and waited for no longer
 * @param outer the caller's own wish to stop; its reason is thrown then
 */
export const withTimeout = async <Value>(
  ms: number,
  { sleep, signal: callerSignal }: { readonly sleep: Sleep; readonly signal: AbortSignal | undefined },
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<TimeLimited<Value>> => {
  callerSignal?.throwIfAborted();
  const controller = new AbortController();
  const abort = (): void => controller.abort(callerSignal?.reason);
  callerSignal?.addEventListener('abort', abort);
  try {
    const result = await Promise.race([
      work(controller.signal).then((value) => ({ isInTime: true as const, value })),
      sleep(ms, controller.signal).then(() => ({ isInTime: false as const })),
    ]);
    if (!result.isInTime) callerSignal?.throwIfAborted();
    return result;
  } catch (error) {
    callerSignal?.throwIfAborted();
    throw error;
  } finally {
    callerSignal?.removeEventListener('abort', abort);
    controller.abort();
  }
};

/** @throws the signal's reason once it is aborted */
export const abortableSleep = async (sleep: Sleep, ms: number, signal: AbortSignal | undefined): Promise<void> => {
  signal?.throwIfAborted();
  await sleep(ms, signal ?? new AbortController().signal);
  signal?.throwIfAborted();
};

const maxPauseMs = 5_000;

/** Half as long again, so that what takes long is not asked for every moment: a key's requests are counted. */
export const nextPauseMs = (ms: number): number => Math.max(ms, Math.min(maxPauseMs, Math.round(ms * 1.5)));
