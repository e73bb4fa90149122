/**
 * Records an event of an application: one conditional put into the log of its run. A lost put folds the new commits and decides again,
 * so the event gets the next free position. A refusal is decided on the newest commits only.
 */
import type { Decision } from '../../../engine/decision.ts';
import { type Decided, type WorldRequest, decideRequest } from '../../../engine/devkit/decide.ts';
import type { RunAddress } from '../../../engine/ids.ts';
import { Unavailable } from '../../../ports/unavailable.ts';
import { enforceDeadline, isPastDeadline } from '../../commit/deadline.ts';
import { maxLostPuts } from '../../run-log/append.ts';
import { type EventParams, type EventResult, resultOf } from './event-result.ts';
import { isStillClaimed, releaseTokens, withToken } from './hook-tokens.ts';
import { createRunOf } from './create-run-event.ts';
import { completeEnd, markBeforeCommit } from './lost-effects.ts';
import { recordDecided } from './record-decided.ts';
import { isShareable, recordTogether } from './record-together.ts';
import { type DevKitFold, type World, withRun } from './world.ts';
import { type WorldResult, errorOf, noRun, refused } from './world-error.ts';

export interface CreateEventRequest {
  readonly run: RunAddress;
  readonly request: WorldRequest;
  readonly params: EventParams;
}

export async function createEvent(world: World, call: CreateEventRequest): Promise<WorldResult<EventResult>> {
  const { run, request } = call;
  if (isShareable(call)) return (await recordTogether(world, call)) ?? noRun;
  const record = (isFirst: boolean): Promise<WorldResult<EventResult> | undefined> =>
    withRun(world, run, !isFirst, (fold, isFresh) => recordIn(world, fold, call, isFresh));
  const recorded = request.event === 'run_created' ? undefined : await record(true);
  if (recorded !== undefined) return recorded;
  // The message of a start may come before its run: it carries what the run is created from.
  if (request.event !== 'run_created' && (request.event !== 'run_started' || request.payload === undefined)) return noRun;
  const created = await createRunOf(world, call);
  if (created.kind !== 'exists') return created;
  if (request.event === 'run_created') return refused('entity_conflict', `the run ${run.runId} exists already`);
  return (await record(false)) ?? noRun;
}

async function recordIn(
  world: World,
  fold: DevKitFold,
  { request, params }: CreateEventRequest,
  isFresh: boolean,
): Promise<WorldResult<EventResult>> {
  if (isPastDeadline(world.deps, fold)) await enforceDeadline(world, fold);
  await markBeforeCommit(world.deps, fold, request);
  for (let lostPuts = 0; lostPuts <= maxLostPuts; lostPuts += 1) {
    const claimed = request.event === 'hook_created' ? await withToken(world, fold, request) : { request };
    if ('code' in claimed) return claimed;
    const decide = (draft: Decision): readonly Decided[] =>
      isStillClaimed(fold, claimed) ? [decideRequest(draft, claimed.request)] : [];
    const recorded = await recordDecided(world, fold, decide, isFresh);
    const [decided] = recorded.decided;
    // Another commit took the number that the token was claimed for.
    if (decided === undefined) continue;
    if (decided.kind === 'refused') {
      await completeEnd(world, fold, request);
      return errorOf(decided);
    }
    if (decided.kind === 'accepted') await releaseTokens(world, fold, request);
    return resultOf(world, fold, request, params, decided, recorded.commit);
  }
  throw new Unavailable(`a free commit number of ${fold.head.address.runId} for a hook`);
}
