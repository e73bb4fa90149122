/** A store whose client crashes at a call: before the call reaches the store, or before the response returns. */
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';

export class StoreCrashed extends Error {
  override readonly name = 'StoreCrashed';
}

export interface CrashPoint {
  /** the number of the write, from 1 */
  readonly atWrite: number;
  readonly isWritten: boolean;
}

const reads: ReadonlySet<PropertyKey> = new Set<keyof ExternalRuns>(['entries', 'reminders', 'listings', 'waiters', 'sending']);

/** @returns the store, and the number of its writes so far */
export function crashingStore(
  store: ExternalRuns,
  crashPoint?: CrashPoint,
): { readonly store: ExternalRuns; readonly writes: () => number } {
  let writes = 0;
  let hasCrashed = false;
  const crashing = new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...given: readonly unknown[]): Promise<unknown> => {
        const isLast = !reads.has(name) && (writes += 1) === crashPoint?.atWrite;
        if (hasCrashed || (isLast && crashPoint?.isWritten === false)) {
          hasCrashed = true;
          throw new StoreCrashed(`at ${String(name)}`);
        }
        const answer: unknown = await Reflect.apply(method, target, given);
        if (isLast) {
          hasCrashed = true;
          throw new StoreCrashed(`after ${String(name)}`);
        }
        return answer;
      };
    },
  });
  return { store: crashing, writes: () => writes };
}
