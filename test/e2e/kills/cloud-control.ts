/** The messages between a test and the code inside the cloud's process. */
export const startVariables = { aheadMs: 'KILLS_AHEAD_MS', effectServerPort: 'KILLS_EFFECT_SERVER_PORT' } as const;

export type ControlRequest =
  /** ends a function's busy thread; `rank`, from 0 to 1, selects it; if none is busy, the next busy one within the time */
  | {
      readonly kind: 'end-thread';
      readonly id: number;
      readonly rank: number;
      readonly afterMs: number;
      readonly withinMs: number;
    }
  /** moves the clock forward, as after a sleep of the machine */
  | { readonly kind: 'move-clock'; readonly id: number; readonly byMs: number }
  /** which functions are running */
  | { readonly kind: 'list-active'; readonly id: number };

export type ControlResponse =
  | { readonly kind: 'thread-ended'; readonly id: number; readonly name: string }
  | { readonly kind: 'clock-moved'; readonly id: number }
  | { readonly kind: 'active'; readonly id: number; readonly names: readonly string[] };
