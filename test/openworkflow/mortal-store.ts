/** A store whose client crashes at a call: before the call reaches the store, or before the response returns. */
import type { ExternalRuns } from '../../lib/ports/external-runs.ts';

export class Died extends Error {
  override readonly name = 'Died';
}

export interface Death {
  /** the number of the write, from 1 */
  readonly atWrite: number;
  readonly isWritten: boolean;
}

const reads: ReadonlySet<PropertyKey> = new Set<keyof ExternalRuns>(['entries', 'reminders', 'listings', 'waiters', 'sending']);

/** @returns the store, and the number of its writes so far */
export function mortalStore(store: ExternalRuns, death?: Death): { readonly store: ExternalRuns; readonly writes: () => number } {
  let writes = 0;
  let isDead = false;
  const mortal = new Proxy(store, {
    get(target, name) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...given: readonly unknown[]): Promise<unknown> => {
        const isLast = !reads.has(name) && (writes += 1) === death?.atWrite;
        if (isDead || (isLast && death?.isWritten === false)) {
          isDead = true;
          throw new Died(`at ${String(name)}`);
        }
        const answer: unknown = await Reflect.apply(method, target, given);
        if (isLast) {
          isDead = true;
          throw new Died(`after ${String(name)}`);
        }
        return answer;
      };
    },
  });
  return { store: mortal, writes: () => writes };
}
