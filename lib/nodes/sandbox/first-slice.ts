/** Scripts of one attempt within its first slice: together they take no longer, or the attempt begins again in the slow lane. */
import { SliceSpent } from '../../engine/shares.ts';
import { type DurationMs, durationMs } from '../../engine/time.ts';
import type { Sandbox } from './script.ts';

/**
 * @param slice absent: each script runs to its own limit
 * @returns a sandbox that rejects with `SliceSpent` when the slice is spent and a script has not come to its end or its own limit
 */
export function withinSlice(sandbox: Sandbox, slice: DurationMs | undefined): Sandbox {
  if (slice === undefined) return sandbox;
  let leftMs: number = slice;
  return {
    run: async (script, signal) => {
      const mostMs = Math.floor(leftMs);
      if (mostMs < 1) throw new SliceSpent();
      const isCut = mostMs < script.timeoutMs;
      // Counted from when the script begins: a cold thread is not its fault.
      let beganAt = 0n;
      const end = await sandbox.run(isCut ? { ...script, timeoutMs: durationMs(mostMs) } : script, signal, () => {
        beganAt = process.hrtime.bigint();
      });
      if (isCut && end.kind === 'stopped' && end.fault === 'script_timeout') throw new SliceSpent();
      if (beganAt > 0n) leftMs -= Number(process.hrtime.bigint() - beganAt) / 1e6;
      return end;
    },
  };
}
