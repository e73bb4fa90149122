/** Derived events have the id of the event before them, so a new stream repeats them under an id that was seen. */
import type { RunEvent } from './route-types.ts';

/** The identity of a derived event in its run: an attempt has one of each type. */
export const derivedEventKey = ({ type, payload: { nodeId, iteration, attempt } }: RunEvent): string =>
  JSON.stringify([type, nodeId, iteration, attempt]);
