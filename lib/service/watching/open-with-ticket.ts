/** Tickets to watch a run: issued for a key, valid once within a minute, and stored only as a digest. */
import { createHash } from 'node:crypto';
import { namespaceOf } from '../../engine/external/namespace.ts';
import { type AnyRunId, isExternalRunId } from '../../engine/external/run.ts';
import type { KeyId } from '../../engine/ids.ts';
import { type Instant, after, minutes, seconds } from '../../engine/time.ts';
import type { WatchedRun } from '../../ports/watching.ts';
import type { Authentication, Authenticator } from '../access/authenticator.ts';
import type { Deps } from '../deps.ts';

/** Long enough for a page to open its stream. */
export const ticketLifetime = seconds(60);
/** Longer than the ticket's lifetime; the expiry only cleans up. */
const ticketRetention = minutes(15);

export const ticketDigest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Issues a ticket. @returns when it expires; undefined if the run does not exist in the key's scope */
export async function issueTicket(
  deps: Pick<Deps, 'log' | 'externalLogs' | 'tickets' | 'clock'>,
  run: WatchedRun,
  keyId: KeyId,
  digest: string,
): Promise<Instant | undefined> {
  const { tickets, clock } = deps;
  if (!(await exists(deps, run))) return undefined;
  const expiresAt = after(clock.now(), ticketLifetime);
  await tickets.put(digest, { run, keyId, expiresAt }, after(clock.now(), ticketRetention));
  return expiresAt;
}

async function exists(
  { log, externalLogs }: Pick<Deps, 'log' | 'externalLogs'>,
  { runId, ...scope }: WatchedRun,
): Promise<boolean> {
  if (!isExternalRunId(runId)) return (await log.head({ ...scope, runId })) !== undefined;
  return (await externalLogs.entries({ namespaceId: namespaceOf(scope), runId }, 0)).length > 0;
}

export type TicketUse =
  | Extract<Authentication, { kind: 'authenticated' }>
  | { readonly kind: 'ticket_invalid'; readonly why: string };

/** Redeems the ticket. The stream opens with the rights of the key that issued it, which must still be valid. */
export async function openWithTicket(
  { tickets, clock, ids }: Pick<Deps, 'tickets' | 'clock' | 'ids'>,
  authenticator: Authenticator,
  digest: string,
  runId: AnyRunId,
): Promise<TicketUse> {
  const ticket = await tickets.ticket(digest);
  if (ticket === undefined) return ticketInvalid('ticket_unknown');
  if (ticket.run.runId !== runId) return ticketInvalid('ticket_of_another_run');
  if (ticket.expiresAt <= clock.now()) return ticketInvalid('ticket_expired');
  const authenticated = await authenticator.recheck(ticket.keyId);
  if (authenticated.kind !== 'authenticated') return ticketInvalid(`ticket_of_a_key_${authenticated.why}`);
  // Redeems last, so that a refused request keeps the ticket. The conditional write admits one of two concurrent requests.
  return (await tickets.redeem(digest, ids.nonce())) ? authenticated : ticketInvalid('ticket_used');
}

const ticketInvalid = (why: string): TicketUse => ({ kind: 'ticket_invalid', why });
