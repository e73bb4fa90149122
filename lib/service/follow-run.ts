/**
 * Following a run: every event after a cursor in order, as the log grows, and between them what nodes say while they are at
 * work. It reads and never writes; a reader that comes back with the last id it has seen misses nothing.
 */
import { type RunAddress, topLevel } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import { deltaEventName } from '../engine/log/event-names.ts';
import { type RunState, applyCommit, emptyState, isTerminal, openNodes } from '../engine/log/fold.ts';
import { type PublicEvent, type PublicFact, type Told, envelopeOf, publicFacts } from '../engine/log/public-event.ts';
import { type DurationMs, durationMs, seconds } from '../engine/time.ts';
import { Unavailable } from '../ports/unavailable.ts';
import type { Deps } from './deps.ts';
import { Ears, type Heard } from './read-deltas.ts';
import { untilFirstHole } from './read-log.ts';

/** Between two looks while something happens; half as long again after each look that finds nothing. */
const firstPause = durationMs(200);
const longestAtWork = seconds(1);
/** Nothing is at work: only a time, or something outside, moves the run on. */
const longestWaiting = seconds(5);

/** What a delta is to readers: an event that the log does not have. Its id is that of the last event before it. */
export interface PublicDelta extends Omit<PublicEvent, 'eventId' | 'sequence' | 'type'> {
  readonly eventId: number;
  readonly sequence: number;
  readonly type: typeof deltaEventName;
}

export type News =
  | (PublicFact & { readonly kind: 'event' })
  | { readonly kind: 'delta'; readonly delta: PublicDelta; readonly heard: Heard }
  /** a look that found nothing */
  | { readonly kind: 'quiet' };

/** A run that somebody is about to follow, as of the first look. */
export interface Followed {
  readonly run: RunAddress;
  readonly told: Told;
  readonly state: RunState;
  /** read and not given yet */
  readonly commits: readonly Commit[];
}

/** The first look; undefined where there is no such run in this scope. */
export async function beginFollowing(deps: Pick<Deps, 'log'>, run: RunAddress): Promise<Followed | undefined> {
  const head = await deps.log.head(run);
  if (head === undefined) return undefined;
  const state = emptyState();
  applyCommit(state, head.commit);
  return { run, told: head, state, commits: [head.commit, ...(await readOn(deps, run, state))] };
}

/** Whether the run has ended and nothing of it comes after the cursor. */
export const isAllSeen = ({ state }: Followed, after: number): boolean =>
  isTerminal(state.progress) && after >= state.nextEventId - 1;

/** Ends behind the run's last event, which is then the last thing given. */
export async function* followRun(
  deps: Pick<Deps, 'log' | 'streams' | 'clock'>,
  { run, told, state, commits: first }: Followed,
  after: number,
): AsyncGenerator<News, void, undefined> {
  const ears = new Ears(deps, run);
  let last = after;
  let commits = first;
  let pause: DurationMs = firstPause;
  for (;;) {
    let isNews = false;
    const news = commits.filter(({ firstEventId, events }) => firstEventId + events.length > after + 1);
    for (const seen of news.flatMap((commit) => publicFacts(told, commit))) {
      if (seen.event.eventId <= after) continue;
      isNews = true;
      last = seen.event.eventId;
      yield { kind: 'event', ...seen };
    }
    if (isTerminal(state.progress)) return;
    try {
      for await (const heard of ears.hear(state)) {
        isNews = true;
        yield { kind: 'delta', delta: publicDelta(told, last, heard), heard };
      }
    } catch (trouble) {
      if (!(trouble instanceof Unavailable)) throw trouble;
    }
    if (!isNews) yield { kind: 'quiet' };
    pause = isNews ? firstPause : durationMs(Math.min(longestPause(state), pause * 1.5));
    await deps.clock.sleep(pause);
    commits = await readOn(deps, run, state).catch(nothingNow);
  }
}

/** The commits since, up to the first missing number: behind a hole every commit would stand one place too early. */
async function readOn(deps: Pick<Deps, 'log'>, run: RunAddress, state: RunState): Promise<readonly Commit[]> {
  const { asOf } = state;
  if (asOf === 0) return [];
  const commits = untilFirstHole(await deps.log.commitsAfter(run, asOf), asOf + 1);
  for (const commit of commits) applyCommit(state, commit);
  return commits;
}

/** A look that failed is made again: the reader waits for what comes next anyway. */
const nothingNow = (trouble: unknown): readonly Commit[] => {
  if (!(trouble instanceof Unavailable)) throw trouble;
  return [];
};

const longestPause = (state: RunState): DurationMs => {
  const isAtWork = openNodes(state).some(({ status }) => status !== 'waiting');
  return isAtWork ? longestAtWork : longestWaiting;
};

export const publicDelta = (told: Told, last: number, { node, delta, isReset }: Heard): PublicDelta => ({
  eventId: last,
  sequence: last,
  type: deltaEventName,
  ...envelopeOf(told, delta.at),
  payload: {
    nodeId: node.nodeId,
    ...(node.iteration === topLevel ? {} : { iteration: node.iteration }),
    attempt: delta.attempt,
    deltaIndex: delta.index,
    text: delta.text,
    ...(isReset ? { reset: true } : {}),
  },
});
