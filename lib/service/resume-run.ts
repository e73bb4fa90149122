/**
 * Tells a run that it shall go on, and why: the log keeps the reason and what was brought. Whatever sleeps in a graph run, or
 * in one of code that is replayed, is woken; the workflow of a fetch run is given a message that says so.
 */
import type { RunAddress } from '../engine/ids.ts';
import { firstCommit } from '../engine/ids.ts';
import { type JsonValue, inline } from '../engine/json.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { TerminalStatus } from '../engine/log/head.ts';
import { type DurationMs, after, instant } from '../engine/time.ts';
import type { Reservation } from '../ports/control.ts';
import type { Appended } from './append.ts';
import { askRun, endOf } from './ask-run.ts';
import { decideFetchRun } from './decide-fetch-run.ts';
import type { Decider } from './decide-run.ts';
import { type RunFold, commitsOf, readRun } from './read-log.ts';
import { tellWaiting } from './tell-run.ts';
import { wakeAllBut } from './wake-run.ts';
import { workflowMessage } from './workflow-message.ts';

export interface Resumption {
  readonly reason?: string;
  readonly payload?: JsonValue;
  /** where the request may be repeated: one effect for the key, for as long as keys are remembered */
  readonly once?: {
    readonly key: string;
    readonly bodyHash: string;
    /** absent: that of `POST /v1/runs/resume` */
    readonly endpoint?: string;
    /** absent: as the settings say */
    readonly rememberedMs?: DurationMs;
  };
}

export type ResumeAnswer =
  | { readonly kind: 'resumed'; readonly isReplay: boolean }
  | { readonly kind: 'not_found' }
  | { readonly kind: 'idempotency_conflict' }
  /** the run had ended, before or while this was asked */
  | { readonly kind: 'run_terminal'; readonly status: TerminalStatus };

const resumeEndpoint = 'POST /v1/runs/resume';

export async function resumeRun(decider: Decider, run: RunAddress, resumption: Resumption): Promise<ResumeAnswer> {
  const { deps } = decider;
  const fold = await readRun(deps, run);
  if (fold === undefined) return { kind: 'not_found' };
  const { once } = resumption;
  if (once === undefined) return resume(decider, fold, resumption);

  const now = deps.clock.now();
  const own: Reservation = {
    runId: deps.ids.runId(now),
    bodyHash: once.bodyHash,
    reservedAt: now,
    owner: deps.ids.nonce(),
  };
  const { endpoint = resumeEndpoint, rememberedMs = deps.settings.idempotencyMs } = once;
  const reserved = await deps.reservations.reserve(run, endpoint, once.key, own, {
    notBefore: instant(now - rememberedMs),
    expiresAt: after(now, rememberedMs),
  });
  const standing = reserved.kind === 'taken' ? reserved.by : own;
  if (standing.bodyHash !== once.bodyHash) return { kind: 'idempotency_conflict' };
  if (reserved.kind === 'taken' && (await wasResumed(decider, fold, standing))) return { kind: 'resumed', isReplay: true };
  const answer = await resume(decider, fold, resumption, standing);
  // Nothing was tried, so the key is free again; only its own reserver may say so.
  if (answer.kind !== 'resumed' && reserved.kind === 'reserved')
    await deps.reservations.release(run, endpoint, once.key, own.owner);
  return answer;
}

/** Whether the request that made the reservation got as far as the log; what came since the log was read, the lost put shows. */
async function wasResumed({ deps }: Decider, fold: RunFold, { owner }: Reservation): Promise<boolean> {
  return (await commitsOf(deps, fold, firstCommit)).some(resumesFor(owner));
}

const resumesFor =
  (owner: Reservation['owner']) =>
  ({ events }: Commit): boolean =>
    events.some((event) => event.type === 'RUN_RESUMED' && event.token === owner);

async function resume(
  decider: Decider,
  fold: RunFold,
  resumption: Resumption,
  standing?: Reservation,
): Promise<Extract<ResumeAnswer, { kind: 'resumed' | 'run_terminal' }>> {
  const before = endOf(fold);
  if (before !== undefined) return { kind: 'run_terminal', status: before };
  // The fold holds no request of this key; one that is made at the same moment comes before this one's commit or after it.
  await wakeAllBut(decider, fold);
  const asker = standing === undefined ? decider : { ...decider, isSaidBy: resumesFor(standing.owner) };
  const appended = await askRun(decider, fold, () => commit(asker, fold, resumption, standing));
  const since = endOf(fold);
  // At its deadline a run ends instead.
  const isSaid = appended.kind === 'committed' && appended.commit.events.some(({ type }) => type === 'RUN_RESUMED');
  return isSaid || since === undefined
    ? { kind: 'resumed', isReplay: appended.kind === 'nothing' }
    : { kind: 'run_terminal', status: since };
}

async function commit(
  decider: Decider,
  fold: RunFold,
  { reason, payload }: Resumption,
  standing: Reservation | undefined,
): Promise<Appended> {
  const { deps } = decider;
  const { head } = fold;
  const why = {
    ...(reason === undefined ? {} : { reason }),
    ...(payload === undefined ? {} : { payload: inline(payload) }),
    ...(standing === undefined ? {} : { token: standing.owner }),
  };
  if (head.kind !== 'fetch') return tellWaiting(decider, fold, [{ kind: 'resume-requested', ...why }]);
  const told = { ...(reason === undefined ? {} : { reason }), ...(payload === undefined ? {} : { payload }) };
  const sent = await workflowMessage(deps, head, told, standing?.runId);
  return decideFetchRun(decider, fold, [{ kind: 'resumed', sent, ...why }]);
}
