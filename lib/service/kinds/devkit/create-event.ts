/**
 * Records an event of an application: one conditional put into the log of its run. A lost put folds the new commits and decides again,
 * so the event gets the next free position. A refusal is decided on the newest commits only.
 */
import { type WorldRequest, decideRequest } from '../../../engine/devkit/decide.ts';
import { textIn } from '../../../engine/devkit/fold.ts';
import type { RunAddress } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import { enforceDeadline, isPastDeadline } from '../../commit/deadline.ts';
import { type EventParams, type EventResult, resultOf } from './event-result.ts';
import { claimToken, releaseTokens } from './hook-tokens.ts';
import { createRunOf } from './create-run-event.ts';
import { recordDecided } from './record-decided.ts';
import { type DevKitFold, type World, withRun } from './world.ts';
import { type WorldError, type WorldResult, errorOf, noRun, refused } from './world-error.ts';

export interface CreateEventRequest {
  readonly run: RunAddress;
  readonly request: WorldRequest;
  readonly params: EventParams;
}

export async function createEvent(world: World, call: CreateEventRequest): Promise<WorldResult<EventResult>> {
  const { run, request } = call;
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
  const claimed = request.event === 'hook_created' ? await withToken(world, fold, request) : request;
  if ('code' in claimed) return claimed;
  const recorded = await recordDecided(world, fold, (draft) => [decideRequest(draft, claimed)], isFresh);
  const [decided] = recorded.decided;
  invariant(decided !== undefined, 'a request was not decided');
  if (decided.kind === 'refused') return errorOf(decided);
  if (decided.kind === 'accepted') await releaseTokens(world, fold, request);
  return resultOf(world, fold, request, params, decided, recorded.commit);
}

/** The request with the owner of its token, if that is another hook. */
async function withToken(world: World, fold: DevKitFold, request: WorldRequest): Promise<WorldRequest | WorldError> {
  const token = textIn(request, 'token');
  const { correlationId } = request;
  if (token === undefined || correlationId === undefined) return refused('invalid_request', 'a hook has a token and an id');
  const isKnown = fold.state.devkit?.hooks.has(correlationId) === true;
  // The decision refuses it.
  if (isKnown || isTerminal(fold.state.progress)) return request;
  const claimed = await claimToken(world, fold, token, correlationId);
  if (claimed.kind === 'undecided') return refused('unavailable', 'another request is creating a hook with this token');
  return claimed.kind === 'taken' ? { ...request, tokenOwner: claimed.by.runId } : request;
}
