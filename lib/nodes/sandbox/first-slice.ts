/** Scripts of one attempt within its first slice: together they compute no longer, or the attempt begins again in the slow lane. */
import { TimeSliceExceeded } from '../../engine/fair-shares.ts';
import { type DurationMs, durationMs } from '../../engine/time.ts';
import type { Sandbox } from './script.ts';

/**
 * @param slice of the processor's time; absent: each script runs to its own limit
 * @returns a sandbox that rejects with `TimeSliceExceeded` when the slice is spent and a script has not come to its end or its own limit
 */
export function withinSlice(sandbox: Sandbox, slice: DurationMs | undefined): Sandbox {
  if (slice === undefined) return sandbox;
  let remainingMs: number = slice;
  return {
    run: async (script, signal) => {
      if (remainingMs < 1) throw new TimeSliceExceeded();
      const end = await sandbox.run({ ...script, sliceMs: durationMs(Math.floor(remainingMs)) }, signal);
      remainingMs -= end.cpuMs;
      return end;
    },
  };
}
