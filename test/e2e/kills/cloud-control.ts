/** What a test asks of the inside of a cloud, and what it is told. */
export const startVariables = { aheadMs: 'KILLS_AHEAD_MS', effectServerPort: 'KILLS_EFFECT_SERVER_PORT' } as const;

export type ControlRequest =
  /** ends one function's thread that is at work; `rank`, from 0 to 1, says which; where none is, the next one that is */
  | { readonly kind: 'end-thread'; readonly id: number; readonly rank: number; readonly afterMs: number }
  /** the machine has been asleep */
  | { readonly kind: 'move-clock'; readonly id: number; readonly byMs: number }
  /** which functions are at work */
  | { readonly kind: 'list-active'; readonly id: number };

export type ControlResponse =
  | { readonly kind: 'thread-ended'; readonly id: number; readonly name: string }
  | { readonly kind: 'clock-moved'; readonly id: number }
  | { readonly kind: 'active'; readonly id: number; readonly names: readonly string[] };
