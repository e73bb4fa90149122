/**
 * Follows a run: returns every event after a cursor in order, and between them the deltas of running nodes. It only reads. A reader
 * that reconnects with the last event id it has seen misses nothing.
 */
import { defined } from '../../base/defined.ts';
import { type RunAddress, topLevel } from '../../engine/ids.ts';
import type { Commit } from '../../engine/log/commit.ts';
import { type DerivedEvent, derivedEvents } from '../../engine/log/derived-events.ts';
import { deltaEventName } from '../../engine/log/event-names.ts';
import { type RunState, applyCommit, emptyState, isTerminal, openNodes } from '../../engine/log/fold.ts';
import { type PublicEvent, type MappedEvent, type RunIdentity, envelopeOf, mapEvents } from '../../engine/log/public-event.ts';
import { type DurationMs, durationMs, seconds } from '../../engine/time.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { DeltaSubscriptions, type ReceivedDelta } from './delta-subscriptions.ts';
import { StartAnnouncer } from './start-announcer.ts';
import { untilFirstGap } from '../run-log/read-run-fold.ts';

/** Poll interval while updates arrive; it grows by half after each poll without updates. */
const minPollInterval = durationMs(200);
const maxIntervalRunning = seconds(1);
/** For a run without running nodes: it waits for a timer or a signal. */
const maxIntervalWaiting = seconds(5);

/** A delta as readers see it. It is not in the log, so it has the id of the last event before it. */
export interface PublicDelta extends Omit<PublicEvent, 'eventId' | 'sequence' | 'type'> {
  readonly eventId: number;
  readonly sequence: number;
  readonly type: typeof deltaEventName;
}

export type RunUpdate =
  | (MappedEvent & { readonly kind: 'event' })
  | { readonly kind: 'delta'; readonly delta: PublicDelta; readonly received: ReceivedDelta }
  | { readonly kind: 'derived'; readonly event: DerivedEvent }
  /** a poll without updates */
  | { readonly kind: 'idle' };

/** A run to follow, as of the first read. */
export interface FollowedRun {
  readonly run: RunAddress;
  readonly runInfo: RunIdentity;
  readonly state: RunState;
  /** commits that are read but not returned yet */
  readonly commits: readonly Commit[];
}

/** Reads the run for the first time; undefined if it does not exist in this scope. */
export async function beginFollowing(deps: Pick<Deps, 'log'>, run: RunAddress): Promise<FollowedRun | undefined> {
  const head = await deps.log.head(run);
  if (head === undefined) return undefined;
  const state = emptyState();
  applyCommit(state, head.commit);
  return { run, runInfo: head, state, commits: [head.commit, ...(await readNewCommits(deps, run, state))] };
}

/** Whether the run has ended and has no event after the cursor. */
export const hasSeenAll = ({ state }: FollowedRun, after: number): boolean =>
  isTerminal(state.progress) && after >= state.nextEventId - 1;

/** Ends after the run's last event. */
export async function* followRun(
  deps: Pick<Deps, 'log' | 'streams' | 'clock'>,
  { run, runInfo, state, commits: first }: FollowedRun,
  after: number,
): AsyncGenerator<RunUpdate, void, undefined> {
  const subscriptions = new DeltaSubscriptions(deps, run);
  const starts = new StartAnnouncer(deps, run);
  let last = after;
  let commits = first;
  let interval: DurationMs = minPollInterval;
  for (;;) {
    let hasUpdates = false;
    const newCommits = commits.filter(({ firstEventId, events }) => firstEventId + events.length > after + 1);
    for (const fact of newCommits.flatMap((commit) => mapEvents(runInfo, commit))) {
      if (fact.event.eventId <= after) continue;
      hasUpdates = true;
      for (const event of derivedEvents(state, fact)) yield { kind: 'derived', event };
      last = fact.event.eventId;
      yield { kind: 'event', ...fact };
    }
    if (isTerminal(state.progress)) return;
    try {
      for (const event of await starts.poll(runInfo, state, last)) yield { kind: 'derived', event };
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

/** Reads the new commits up to the first missing number: commits after a gap must not be folded before it is filled. */
async function readNewCommits(deps: Pick<Deps, 'log'>, run: RunAddress, state: RunState): Promise<readonly Commit[]> {
  const { asOf } = state;
  if (asOf === 0) return [];
  const commits = untilFirstGap(await deps.log.commitsAfter(run, asOf), asOf + 1);
  for (const commit of commits) applyCommit(state, commit);
  return commits;
}

/** The next poll repeats a failed read. */
const emptyIfUnavailable = (error: unknown): readonly Commit[] => {
  if (!(error instanceof Unavailable)) throw error;
  return [];
};

const maxIntervalOf = (state: RunState): DurationMs => {
  const hasRunningNodes = openNodes(state).some(({ status }) => status !== 'waiting');
  return hasRunningNodes ? maxIntervalRunning : maxIntervalWaiting;
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
