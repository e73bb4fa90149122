/** The duration of a wait, for the details of its failure. */
import type { JsonObject } from '../json.ts';
import type { ChildWait, SignalWait } from '../log/node-state.ts';
import { between } from '../time.ts';

/** Rounded to seconds, the unit of the setting: the wait's commit is stamped a moment after its decision. */
export const waitTimeoutDetails = ({ dispatchedAt, expiresAt }: SignalWait | ChildWait): JsonObject =>
  expiresAt === undefined ? {} : { timeoutMs: Math.round(between(dispatchedAt, expiresAt) / 1_000) * 1_000 };
