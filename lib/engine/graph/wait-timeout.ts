/** How long a wait could last, for whoever asks why it was over. */
import type { JsonObject } from '../json.ts';
import type { ChildWait, SignalWait } from '../log/node-state.ts';
import { between } from '../time.ts';

/** Authors say it in whole seconds; the commit that began the wait has the time of its writing, a moment after that of its decision. */
export const waitTimeoutDetails = ({ dispatchedAt, expiresAt }: SignalWait | ChildWait): JsonObject =>
  expiresAt === undefined ? {} : { timeoutMs: Math.round(between(dispatchedAt, expiresAt) / 1_000) * 1_000 };
