/** Commits what was decided on requests: one conditional put. A decision without events is decided again on the newest commits. */
import { deadlineTermsOf } from '../../../engine/deadline.ts';
import { openDecision } from '../../../engine/decision.ts';
import type { Decided } from '../../../engine/devkit/decide.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import type { RunEvent } from '../../../engine/log/events.ts';
import { measureCommit } from '../../commit/append-facts.ts';
import { dispatchEffects } from '../../commit/dispatch-effects.ts';
import { type AppendResult, append } from '../../run-log/append.ts';
import { CommitTooLarge } from '../../run-log/payloads.ts';
import { readTail } from '../../run-log/read-run-fold.ts';
import { saveSnapshot } from '../../run-log/snapshots.ts';
import type { DevKitFold, World } from './world.ts';

export interface Recorded {
  readonly decided: readonly Decided[];
  /** undefined: there was nothing to record */
  readonly commit: Commit | undefined;
}

type Decide = (draft: ReturnType<typeof openDecision>) => readonly Decided[];

/** @param isFresh false: the fold may be older than the log, so a decision without events is decided again on the newest commits */
export async function recordDecided(world: World, fold: DevKitFold, decide: Decide, isFresh: boolean): Promise<Recorded> {
  const { deps } = world;
  let decided: readonly Decided[] = [];
  const events = (): readonly RunEvent[] => {
    const draft = openDecision(fold.state, { now: deps.clock.now(), ...deadlineTermsOf(fold.head) });
    decided = decide(draft);
    return draft.events;
  };
  const appended = await appendOrThrow(world, fold, events);
  if (appended.kind === 'nothing' && !isFresh && (await readTail(deps, fold)) > 0)
    return recordDecided(world, fold, decide, true);
  if (appended.kind === 'nothing') return { decided, commit: undefined };
  measureCommit(deps, fold, appended.commit);
  await dispatchEffects(world, fold, appended.commit);
  await saveSnapshot(deps, fold);
  return { decided, commit: appended.commit };
}

const appendOrThrow = ({ deps, by }: World, fold: DevKitFold, events: () => readonly RunEvent[]): Promise<AppendResult> =>
  append(deps, fold, by, events, {
    eventsWhenTooLarge: (failure) => {
      throw new EventTooLarge(failure.message);
    },
  });

/** The application learns that its event is too large. Its run goes on. */
class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

export const isTooLarge = (error: unknown): error is Error => error instanceof EventTooLarge || error instanceof CommitTooLarge;
