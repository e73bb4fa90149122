/** Limits the scripts of one attempt to a shared time slice. An attempt that exceeds it starts again in the slow lane. */
import { TimeSliceExceeded } from '../../engine/fair-shares.ts';
import { type DurationMs, durationMs } from '../../engine/time.ts';
import type { Sandbox } from './script.ts';

/**
 * @param slice CPU time; absent: only the limit of each script applies
 * @returns a sandbox that rejects with `TimeSliceExceeded` when the slice is used up before a script ends
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
