/**
 * Following a run: every event after a cursor in order, as the log grows, and between them what nodes say while they are at
 * work. It reads and never writes; a reader that comes back with the last id it has seen misses nothing.
 */
import { defined } from '../../engine/defined.ts';
import { type RunAddress, topLevel } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { deltaEventName } from '../../engine/log/event-names.ts';
import { type RunState, applyCommit, emptyState, isTerminal, openNodes } from '../../engine/log/fold.ts';
import { type PublicEvent, type MappedEvent, type RunIdentity, envelopeOf, mapEvents } from '../../engine/log/public-event.ts';
import { type DurationMs, durationMs, seconds } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { DeltaSubscriptions, type ReceivedDelta } from './delta-subscriptions.ts';
import { untilFirstGap } from '../run-log/read-run-fold.ts';

/** Between two looks while something happens; half as long again after each look that finds nothing. */
const minPollInterval = durationMs(200);
const maxIntervalAtWork = seconds(1);
/** Nothing is at work: only a time, or something outside, moves the run on. */
const maxIntervalWaiting = seconds(5);

/** What a delta is to readers: an event that the log does not have. Its id is that of the last event before it. */
export interface PublicDelta extends Omit<PublicEvent, 'eventId' | 'sequence' | 'type'> {
  readonly eventId: number;
  readonly sequence: number;
  readonly type: typeof deltaEventName;
}

export type RunUpdate =
  | (MappedEvent & { readonly kind: 'event' })
  | { readonly kind: 'delta'; readonly delta: PublicDelta; readonly received: ReceivedDelta }
  /** a look that found nothing */
  | { readonly kind: 'idle' };

/** A run that somebody is about to follow, as of the first look. */
export interface FollowedRun {
  readonly run: RunAddress;
  readonly runInfo: RunIdentity;
  readonly state: RunState;
  /** read and not given yet */
  readonly commits: readonly Commit[];
}

/** The first look; undefined where there is no such run in this scope. */
export async function beginFollowing(deps: Pick<Deps, 'log'>, run: RunAddress): Promise<FollowedRun | undefined> {
  const head = await deps.log.head(run);
  if (head === undefined) return undefined;
  const state = emptyState();
  applyCommit(state, head.commit);
  return { run, runInfo: head, state, commits: [head.commit, ...(await readNewCommits(deps, run, state))] };
}

/** Whether the run has ended and nothing of it comes after the cursor. */
export const hasSeenAll = ({ state }: FollowedRun, after: number): boolean =>
  isTerminal(state.progress) && after >= state.nextEventId - 1;

/** Ends behind the run's last event, which is then the last thing given. */
export async function* followRun(
  deps: Pick<Deps, 'log' | 'streams' | 'clock'>,
  { run, runInfo, state, commits: first }: FollowedRun,
  after: number,
): AsyncGenerator<RunUpdate, void, undefined> {
  const subscriptions = new DeltaSubscriptions(deps, run);
  let last = after;
  let commits = first;
  let interval: DurationMs = minPollInterval;
  for (;;) {
    let hasUpdates = false;
    const newCommits = commits.filter(({ firstEventId, events }) => firstEventId + events.length > after + 1);
    for (const fact of newCommits.flatMap((commit) => mapEvents(runInfo, commit))) {
      if (fact.event.eventId <= after) continue;
      hasUpdates = true;
      last = fact.event.eventId;
      yield { kind: 'event', ...fact };
    }
    if (isTerminal(state.progress)) return;
    try {
      for await (const received of subscriptions.poll(state)) {
        hasUpdates = true;
        yield { kind: 'delta', delta: publicDelta(runInfo, last, received), received };
      }
    } catch (error) {
      if (!(error instanceof Unavailable)) throw error;
    }
    if (!hasUpdates) yield { kind: 'idle' };
    interval = hasUpdates ? minPollInterval : durationMs(Math.min(maxIntervalOf(state), interval * 1.5));
    await deps.clock.sleep(interval);
    commits = await readNewCommits(deps, run, state).catch(emptyIfUnavailable);
  }
}

/** The commits since, up to the first missing number: behind a hole every commit would stand one place too early. */
async function readNewCommits(deps: Pick<Deps, 'log'>, run: RunAddress, state: RunState): Promise<readonly Commit[]> {
  const { asOf } = state;
  if (asOf === 0) return [];
  const commits = untilFirstGap(await deps.log.commitsAfter(run, asOf), asOf + 1);
  for (const commit of commits) applyCommit(state, commit);
  return commits;
}

/** A look that failed is made again: the reader waits for what comes next anyway. */
const emptyIfUnavailable = (error: unknown): readonly Commit[] => {
  if (!(error instanceof Unavailable)) throw error;
  return [];
};

const maxIntervalOf = (state: RunState): DurationMs => {
  const isAtWork = openNodes(state).some(({ status }) => status !== 'waiting');
  return isAtWork ? maxIntervalAtWork : maxIntervalWaiting;
};

export const publicDelta = (runInfo: RunIdentity, last: number, { node, delta, isReset }: ReceivedDelta): PublicDelta => ({
  eventId: last,
  sequence: last,
  type: deltaEventName,
  ...envelopeOf(runInfo, delta.at),
  payload: defined({
    nodeId: node.nodeId,
    iteration: node.iteration === topLevel ? undefined : node.iteration,
    attempt: delta.attempt,
    deltaIndex: delta.index,
    text: delta.text,
    reset: isReset ? true : undefined,
  }),
});
