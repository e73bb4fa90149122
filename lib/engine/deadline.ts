/**
 * The deadline of a run. A declared deadline is fixed. If the workflow, the start and the calling run declare none, a run has seven
 * days, and time in which it waits does not count: at its deadline a run that waits, or waited in the last seven days, gets a later
 * one. The deadline at least doubles, so that a run of a year is extended at most six times. (docs/decisions/long-waits.md)
 */
import type { RunState } from './log/fold.ts';
import { defaultDeadline, latestDeadlineOf } from './log/head.ts';
import type { RunCreation } from './log/head.ts';
import type { OpenNode } from './log/node-state.ts';
import { waitEndsAt } from './log/node-state.ts';
import { isWaitingForSlot, openNodes } from './log/run-state.ts';
import { type Instant, after, between, instant } from './time.ts';

/** What a decision knows of the deadline of its run. */
export interface DeadlineTerms {
  readonly deadlineAt: Instant;
  /** absent: the deadline was declared, or has no room */
  readonly extension?: {
    /** the start of the run */
    readonly from: Instant;
    readonly until: Instant;
  };
}

/** @param head with the deadline of the log (`withExtendedDeadline`) */
export const deadlineTermsOf = ({
  createdAt,
  availableAt,
  deadlineAt,
  deadlineLimitAt,
}: Pick<RunCreation, 'createdAt' | 'availableAt' | 'deadlineAt' | 'deadlineLimitAt'>): DeadlineTerms =>
  deadlineLimitAt === undefined
    ? { deadlineAt }
    : { deadlineAt, extension: { from: availableAt ?? createdAt, until: deadlineLimitAt } };

/** A wait that ends later never ends: the run cannot last so long. */
export const latestWaitEnd = ({ deadlineAt, extension }: DeadlineTerms): Instant =>
  latestDeadlineOf(extension === undefined ? { deadlineAt } : { deadlineAt, deadlineLimitAt: extension.until });

/** @returns the next deadline of a run whose deadline has passed; undefined if the run must end */
export function extendedDeadline(state: RunState, { deadlineAt, extension }: DeadlineTerms, now: Instant): Instant | undefined {
  // A run that exceeded its deadline rolls back within an hour.
  if (extension === undefined || state.code?.runOutcome?.status === 'timed_out') return undefined;
  const needed = neededUntil(state, now);
  if (needed <= now) return undefined;
  const doubled = after(deadlineAt, between(extension.from, deadlineAt));
  const extended = instant(Math.min(extension.until, Math.max(doubled, needed)));
  return extended > now ? extended : undefined;
}

/** Seven days after the last wait, which may not have ended; now if there was none. */
function neededUntil(state: RunState, now: Instant): Instant {
  const open = openNodes(state);
  const ends = open.filter((node) => isWaiting(node, now)).map((node) => Math.max(now, endOf(node) ?? now));
  // A bundle run without an open message waits for its next one.
  if (isWaitingForSlot(state) || open.length === 0) ends.push(now);
  if (state.lastWaitEndsAt !== undefined) ends.push(state.lastWaitEndsAt);
  return ends.length === 0 ? now : after(instant(Math.max(...ends)), defaultDeadline);
}

/** A loop only waits between its iterations. A workflow task that cannot run is retried: that is an error and no wait. */
function isWaiting(node: OpenNode, now: Instant): boolean {
  if (node.status === 'waiting') return node.for !== 'iterations' || node.loop.wakeAt !== undefined;
  const isDeferred = node.step?.kind === 'workflow_task' && node.attempt > 1;
  return node.status === 'queued' && node.notBefore !== undefined && node.notBefore > now && !isDeferred;
}

const endOf = (node: OpenNode): Instant | undefined =>
  node.status === 'waiting' ? waitEndsAt(node) : node.status === 'queued' ? node.notBefore : undefined;
