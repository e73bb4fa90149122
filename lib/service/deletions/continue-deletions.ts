/**
 * Continues the deletions of workflows; the sweep calls it. A deletion runs in slices. Each slice ends with a conditional update of
 * the deletion's record, so a repeated slice counts once, and a crash loses at most one slice.
 * (docs/decisions/deleting-a-workflow.md)
 */
import { defined } from '../../base/defined.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { unreachable } from '../../engine/invariant.ts';
import type { Head } from '../../engine/log/head.ts';
import { terminalStatuses } from '../../engine/log/head.ts';
import { type Instant, after, between, hours, instant, iso, minutes, seconds } from '../../engine/time.ts';
import type { FoundRun, WorkflowDeletion } from '../../ports/deletions.ts';
import { deleteDraft } from '../definitions/drafts.ts';
import { cancelRun } from '../runs/cancel-run.ts';
import { closeName } from './close-name.ts';
import { type Decider, kindOf } from '../decider.ts';
import { deleteRun, deletionReason, catchUnreadable } from './delete-run.ts';
import type { Deps } from '../deps.ts';
import { auditRetention } from '../access/record-audit.ts';

export interface ContinueResult {
  /** number of deletions that completed */
  readonly ended: number;
  /** deletions whose slice failed; the next sweep continues them */
  readonly failed: readonly { readonly deletion: WorkflowDeletion; readonly error: unknown }[];
  /** runs that were deleted without being cancelled, because their stored data cannot be read */
  readonly broken: readonly BrokenRun[];
}

interface BrokenRun {
  readonly run: RunAddress;
  readonly error: unknown;
}

/** Time for deletions in one sweep; the next sweep continues the rest. */
export const deletionTimeBudget = seconds(45);

/** Runs in one slice. */
const runsPerPage = 50;
const maxConcurrentRuns = 8;

/**
 * A Lambda function runs for at most 15 minutes. So every process that was running when the name was freed has ended after this time.
 * Until then such a process may still create a run of the workflow or write items of a run.
 */
export const settlingTime = minutes(20);

/** A run that is created after the request may have an earlier `createdAt`, because clocks differ by up to this time. */
const maxClockSkew = hours(1);

/** @param mustEndAt no slice starts after this time */
export async function continueDeletions(decider: Decider, mustEndAt: Instant): Promise<ContinueResult> {
  const { deps } = decider;
  const failed: { deletion: WorkflowDeletion; error: unknown }[] = [];
  const broken: BrokenRun[] = [];
  let ended = 0;
  let current = await deps.deletions.all();
  // One slice of each deletion per round, so that a long deletion does not delay the others.
  while (current.length > 0 && deps.clock.now() < mustEndAt) {
    const next: WorkflowDeletion[] = [];
    for (const deletion of current) {
      if (deps.clock.now() >= mustEndAt) break;
      try {
        const step = await continueOne(decider, deletion, { mustEndAt, broken });
        if (step === 'ended') ended += 1;
        else if (step !== 'waiting') next.push(step);
      } catch (error) {
        failed.push({ deletion, error });
      }
    }
    current = next;
  }
  return { ended, failed, broken };
}

/** The updated record; `ended`; or `waiting`: not due yet, or another process has updated the record. */
type Step = WorkflowDeletion | 'ended' | 'waiting';

interface SweepContext {
  readonly mustEndAt: Instant;
  readonly broken: BrokenRun[];
}

function continueOne(decider: Decider, deletion: WorkflowDeletion, sweep: SweepContext): Promise<Step> {
  switch (deletion.phase) {
    case 'closing':
      return closeName(decider.deps, deletion).then((closed) => closed ?? 'ended');
    case 'finding':
      return findRuns(decider, deletion);
    case 'deleting':
      return deleteFound(decider, deletion, sweep);
    case 'freeing':
      return freeName(decider.deps, deletion);
    case 'settling':
      return findLateRuns(decider, deletion);
    case 'clearing':
      return removeRecords(decider, deletion, sweep);
    default:
      return unreachable(deletion.phase);
  }
}

/** Lists the project's runs, newest first. Cancels open runs at once, so that they stop before they are deleted. */
async function findRuns(decider: Decider, deletion: WorkflowDeletion): Promise<Step> {
  const { heads, next } = await pageOf(decider.deps, deletion);
  const found = await cancelAndNote(decider, deletion, heads);
  const { position: _before, ...rest } = deletion;
  const counted = { ...rest, runsFound: deletion.runsFound + found };
  return replaceRecord(decider.deps, next === undefined ? { ...counted, phase: 'deleting' } : { ...counted, position: next });
}

const pageOf = ({ index }: Deps, { position, ...scope }: WorkflowDeletion) =>
  index.list(scope, defined({ limit: runsPerPage, after: position }));

/** @returns how many of the heads are runs of the workflow */
async function cancelAndNote(decider: Decider, deletion: WorkflowDeletion, heads: readonly Head[]): Promise<number> {
  const { deps } = decider;
  const now = deps.clock.now();
  const matching = heads.filter((head) => isRunOf(decider, deletion, head));
  await deps.deletions.addRuns(
    deletion,
    matching.map((head): FoundRun => ({ runId: head.address.runId, expiresAt: head.expiresAt, isRecent: isRecent(head, now) })),
  );
  const open = matching.filter((head) => !hasEnded(head));
  // `deleteRun` reports a run that cannot be cancelled.
  await inBatches(open, async ({ address }) => void (await catchUnreadable(() => cancelRun(decider, address, deletionReason))));
  return matching.length;
}

/** Runs of higher versions belong to a workflow published under the name later. Version 0 is a test run, which expires on its own. */
function isRunOf(decider: Decider, { name, throughVersion }: WorkflowDeletion, head: Head): boolean {
  const version = kindOf(decider, head).versionsOf(head).workflowVersion;
  return version !== null && head.workflow.name === name && version >= 1 && version <= throughVersion;
}

const hasEnded = ({ projection }: Head): boolean => terminalStatuses.some((status) => status === projection.status);

const isRecent = ({ projection: { endedAt } }: Head, now: Instant): boolean =>
  endedAt === undefined || between(endedAt, now) < settlingTime;

async function deleteFound(decider: Decider, deletion: WorkflowDeletion, sweep: SweepContext): Promise<Step> {
  const { deps } = decider;
  const { after: position } = deletion;
  const runs = await deps.deletions.runs(
    deletion,
    defined({
      limit: runsPerPage,
      after: position,
    }),
  );
  if (runs.length === 0) {
    const { after: _end, ...rest } = deletion;
    const settledAt = after(deps.clock.now(), settlingTime);
    return replaceRecord(
      deps,
      deletion.freedAt === undefined
        ? { ...rest, phase: 'freeing', freedAt: deps.clock.now(), settledAt }
        : { ...rest, phase: 'settling', settledAt },
    );
  }
  let deleted = deletion;
  // Long logs take time: the record counts the runs deleted before the time is up.
  for (let first = 0; first < runs.length && (first === 0 || deps.clock.now() < sweep.mustEndAt); first += maxConcurrentRuns) {
    const batch = runs.slice(first, first + maxConcurrentRuns);
    await inBatches(batch, (run) => deleteOne(decider, deletion, run, sweep));
    const last = batch.at(-1);
    if (last !== undefined) deleted = { ...deleted, after: last.runId, runsDeleted: deleted.runsDeleted + batch.length };
  }
  return replaceRecord(deps, deleted);
}

/** The audit entry's id and time follow from the record, so a repeated write changes nothing. */
async function freeName(deps: Deps, deletion: WorkflowDeletion): Promise<Step> {
  const { projectId, environment, name, throughVersion, freedAt = deps.clock.now(), runsDeleted, requestedAt } = deletion;
  const entry = {
    at: freedAt,
    keyId: deletion.requestedBy,
    scope: { projectId, environment },
    action: 'workflows.deleted',
    resource: `workflow/${name}`,
    result: 'success',
    metadata: { runs: runsDeleted, throughVersion, requestedAt: iso(requestedAt) },
  } as const;
  await deps.audit.record(`deletion-${name}-${throughVersion}`, entry, after(freedAt, auditRetention));
  // A repeated slice finds the name free, and a draft of a new workflow.
  const isClosed = (await deps.workflows.summary(deletion, name))?.deletingSince !== undefined;
  if (isClosed) await deleteDraft(deps, deletion, name);
  await deps.workflows.free(deletion, { name, version: throughVersion });
  return replaceRecord(deps, { ...deletion, phase: 'settling' });
}

/** Finds runs created by processes that had read the workflow before its name was closed. */
async function findLateRuns(decider: Decider, deletion: WorkflowDeletion): Promise<Step> {
  const { deps } = decider;
  if (deps.clock.now() < (deletion.settledAt ?? 0)) return 'waiting';
  const { heads, next } = await pageOf(deps, deletion);
  const lateRuns = await cancelAndNote(decider, deletion, heads);
  const { position: _before, ...rest } = deletion;
  // Deletes the late runs like the others, then settles again.
  if (lateRuns > 0) return replaceRecord(deps, { ...rest, phase: 'deleting', runsFound: deletion.runsFound + lateRuns });
  const since = instant(deletion.requestedAt - maxClockSkew);
  const hasReachedRequest = next === undefined || next.createdAt < since;
  return replaceRecord(deps, hasReachedRequest ? { ...rest, phase: 'clearing' } : { ...rest, position: next });
}

/** Removes items that workers wrote after their run was deleted, then the versions, which those workers may have read, then the record. */
async function removeRecords(decider: Decider, deletion: WorkflowDeletion, sweep: SweepContext): Promise<Step> {
  const { deps } = decider;
  const runs = await deps.deletions.runs(deletion, { limit: runsPerPage });
  if (runs.length > 0) {
    const recent = runs.filter((run) => run.isRecent);
    await inBatches(recent, (run) => deleteOne(decider, deletion, run, sweep));
    await deps.deletions.removeRuns(
      deletion,
      runs.map(({ runId }) => runId),
    );
    return deletion;
  }
  await removeVersions(deps, deletion);
  await deps.deletions.remove(deletion);
  return 'ended';
}

/**
 * Removes the versions of the deleted workflow, and a version whose publisher lost the race against the deletion. A new workflow may
 * write its first version under the free name meanwhile, so each number is made unusable before its version is removed.
 */
async function removeVersions({ workflows }: Deps, { name, throughVersion, ...scope }: WorkflowDeletion): Promise<void> {
  for (const number of await workflows.versionNumbers(scope, name)) {
    if (number > throughVersion) {
      const { firstVersion } = (await workflows.summary(scope, name)) ?? {};
      const isBefore = firstVersion !== undefined && number < firstVersion;
      if (!isBefore && !(await workflows.skipTo(scope, name, number))) continue;
    }
    await workflows.removeVersion(scope, name, number);
  }
}

async function deleteOne(decider: Decider, deletion: WorkflowDeletion, found: FoundRun, { broken }: SweepContext): Promise<void> {
  const run = addressOf(deletion, found);
  const error = await deleteRun(decider, run, found.expiresAt);
  if (error !== undefined) broken.push({ run, error });
}

const addressOf = ({ projectId, environment }: WorkflowDeletion, { runId }: FoundRun) => ({ projectId, environment, runId });

async function replaceRecord({ deletions }: Deps, to: WorkflowDeletion): Promise<Step> {
  const next = { ...to, revision: to.revision + 1 };
  return (await deletions.replace(next)) ? next : 'waiting';
}

async function inBatches<Each>(all: readonly Each[], work: (each: Each) => Promise<void>): Promise<void> {
  for (let first = 0; first < all.length; first += maxConcurrentRuns)
    await Promise.all(all.slice(first, first + maxConcurrentRuns).map(work));
}
