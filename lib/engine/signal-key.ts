/** The key by which a signal and a wait are matched: name and correlation, within one project and environment. */
import type { Scope } from './ids.ts';

export interface SignalKey extends Scope {
  readonly name: string;
  /** the business key of the signal, such as an order number or a run id */
  readonly correlation: string;
}

/** Maximum length of a name and of a correlation, in characters. */
export const maxSignalTextLength = 256;
