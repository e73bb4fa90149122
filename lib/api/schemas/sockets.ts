/** What a client says over a socket. */
import * as z from 'zod';
import { runIdPattern } from '../../engine/ids.ts';

/** A message of a client, in bytes: what it may say is short. */
export const socketMessageLimitBytes = 4_096;

export const socketActions = ['join', 'leave', 'ping'] as const;

/** The name that the engine's document gives to a join. */
const joinAlias = 'workflow_run_join';

const runId = z.string().regex(runIdPattern);

/** An event id, or 0 for the time before the first. */
const after = z.int().min(0).max(999_999_999_999_999).default(0);

export const socketMessage = z.discriminatedUnion('action', [
  z.strictObject({ action: z.enum(['join', joinAlias]), runId, after }),
  z.strictObject({ action: z.literal('leave'), runId }),
  z.strictObject({ action: z.literal('ping') }),
]);
