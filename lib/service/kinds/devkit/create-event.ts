/**
 * Records an event of an application: one conditional put into the log of its run. A lost put folds the new commits and decides again,
 * so the event gets the next free position. A refusal is decided on the newest commits only.
 */
import type { Decision } from '../../../engine/decision.ts';
import { type Decided, type WorldRequest, decideRequest } from '../../../engine/devkit/decide.ts';
import { isTerminalRunEvent } from '../../../engine/devkit/events.ts';
import { textIn } from '../../../engine/devkit/fold.ts';
import type { RunAddress } from '../../../engine/ids.ts';
import { isTerminal } from '../../../engine/log/fold.ts';
import type { Instant } from '../../../engine/time.ts';
import { enforceDeadline, isPastDeadline } from '../../commit/deadline.ts';
import { finalizeUnlessDone } from '../../execution/recover-run.ts';
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
  const claimed = request.event === 'hook_created' ? await withToken(world, fold, request) : { request };
  if ('code' in claimed) return claimed;
  const { commitBy } = claimed;
  const decide = (draft: Decision): readonly Decided[] =>
    commitBy !== undefined && draft.tools.now > commitBy ? [] : [decideRequest(draft, claimed.request)];
  const recorded = await recordDecided(world, fold, decide, isFresh);
  const [decided] = recorded.decided;
  if (decided === undefined) return refused('unavailable', 'the claim of the token is too old: the request took too long');
  if (decided.kind === 'refused') {
    await completeEnd(world, fold, request);
    return errorOf(decided);
  }
  if (decided.kind === 'accepted') await releaseTokens(world, fold, request);
  return resultOf(world, fold, request, params, decided, recorded.commit);
}

/** A process that ended the run may have crashed before the effects of the end. The code's next call completes them. */
async function completeEnd({ deps }: World, fold: DevKitFold, { event }: WorldRequest): Promise<void> {
  const isOfEnd = event === 'run_started' || isTerminalRunEvent(event);
  if (isOfEnd && isTerminal(fold.state.progress)) await finalizeUnlessDone(deps, fold);
}

interface Claiming {
  /** with the owner of its token, if that is another hook */
  readonly request: WorldRequest;
  /** afterwards another hook may take the token */
  readonly commitBy?: Instant;
}

async function withToken(world: World, fold: DevKitFold, request: WorldRequest): Promise<Claiming | WorldError> {
  const token = textIn(request, 'token');
  const { correlationId } = request;
  if (token === undefined || correlationId === undefined) return refused('invalid_request', 'a hook has a token and an id');
  const { devkit } = fold.state;
  const isKnown = devkit?.hooks.has(correlationId) === true || devkit?.refusedHooks.has(correlationId) === true;
  // The decision answers it.
  if (isKnown || isTerminal(fold.state.progress)) return { request };
  const claimed = await claimToken(world, fold, token, correlationId);
  if (claimed.kind === 'undecided') return refused('unavailable', 'another request is creating a hook with this token');
  if (claimed.kind === 'taken') return { request: { ...request, tokenOwner: claimed.by.runId } };
  return { request, commitBy: claimed.commitBy };
}
