/** Timeouts, abortable sleeps and poll pauses. A timeout races the work against a sleep, and aborts the loser. */
import type { Sleep } from './options.ts';

export type TimeLimited<Value> = { readonly isInTime: true; readonly value: Value } | { readonly isInTime: false };

/**
 * @param ms after this time the signal of `work` is aborted
 * @throws the reason of the caller's signal if it is aborted
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

/** @throws the reason of the signal if it is aborted */
export const abortableSleep = async (sleep: Sleep, ms: number, signal: AbortSignal | undefined): Promise<void> => {
  signal?.throwIfAborted();
  await sleep(ms, signal ?? new AbortController().signal);
  signal?.throwIfAborted();
};

const maxPauseMs = 5_000;

/** Each pause is 1.5 times longer, because polls count towards the rate limit of the key. */
export const nextPauseMs = (ms: number): number => Math.max(ms, Math.min(maxPauseMs, Math.round(ms * 1.5)));
