/** Where a signal and the wait for it meet: by name and correlation, within one project and environment. */
import type { Scope } from './ids.ts';

export interface SignalKey extends Scope {
  readonly name: string;
  /** which of all the things that bear the name: an order's number, or a run's id */
  readonly correlation: string;
}

/** Of a name and of a correlation, in characters. */
export const maxSignalTextLength = 256;
