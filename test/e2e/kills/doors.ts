/** What a test asks of the inside of a cloud, and what it is told. */
export const startVariables = { aheadMs: 'KILLS_AHEAD_MS', outsidePort: 'KILLS_OUTSIDE_PORT' } as const;

export type Asked =
  /** ends one function's thread that is at work; `rank`, from 0 to 1, says which; where none is, the next one that is */
  | { readonly kind: 'end-thread'; readonly id: number; readonly rank: number; readonly afterMs: number }
  /** the machine has been asleep */
  | { readonly kind: 'move-clock'; readonly id: number; readonly byMs: number }
  /** which functions are at work */
  | { readonly kind: 'look'; readonly id: number };

export type Told =
  | { readonly kind: 'thread-ended'; readonly id: number; readonly name: string }
  | { readonly kind: 'clock-moved'; readonly id: number }
  | { readonly kind: 'at-work'; readonly id: number; readonly names: readonly string[] };
