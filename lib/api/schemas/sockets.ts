/** Schemas of WebSocket messages from clients. */
import * as z from 'zod';
import { runIdPattern } from '../../engine/ids.ts';

/** Maximum size of a client message in bytes. */
export const socketMessageLimitBytes = 4_096;

export const socketActions = ['join', 'leave', 'ping'] as const;

/** Alias of `join` in the engine's reference document. */
const joinAlias = 'workflow_run_join';

const runId = z.string().regex(runIdPattern);

/** An event id, or 0 for all events. */
const after = z.int().min(0).max(999_999_999_999_999).default(0);

export const socketMessage = z.discriminatedUnion('action', [
  z.strictObject({ action: z.enum(['join', joinAlias]), runId, after }),
  z.strictObject({ action: z.literal('leave'), runId }),
  z.strictObject({ action: z.literal('ping') }),
]);
