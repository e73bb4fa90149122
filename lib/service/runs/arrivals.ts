/** Counts the starts of a batch that have given what they share, or have ended without it. */

export interface Arrival {
  /** whether the start is still awaited */
  readonly isAwaited: () => boolean;
  readonly arrive: () => void;
}

/**
 * @param count how many starts take part
 * @param complete called when the last one has arrived
 * @returns the arrival of the next start
 */
export function createArrivals(count: number, complete: () => void): () => Arrival {
  let awaited = count;
  return () => {
    let isAwaited = true;
    return {
      isAwaited: () => isAwaited,
      arrive: () => {
        if (!isAwaited) return;
        isAwaited = false;
        awaited -= 1;
        if (awaited === 0) complete();
      },
    };
  };
}
