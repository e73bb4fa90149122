/** Records several events of a run in one commit. Each one gets the answer that it would get alone; the refused ones are left out. */
import { defined } from '../../../base/defined.ts';
import { type Decided, type WorldRequest, decideRequest } from '../../../engine/devkit/decide.ts';
import type { CreatableEvent } from '../../../engine/devkit/events.ts';
import type { RunAddress } from '../../../engine/ids.ts';
import type { JsonObject } from '../../../engine/json.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import { enforceDeadline, isPastDeadline } from '../../commit/deadline.ts';
import { recordDecided } from './record-decided.ts';
import { runOf } from './entities.ts';
import { entityOf } from './event-result.ts';
import { placedIn, viewsOf } from './read-events.ts';
import { inlineLimitOf } from './uploads.ts';
import { type DevKitFold, type ResolveData, type World, withRun } from './world.ts';
import { type WorldResult, answer, invalid, noRun } from './world-error.ts';

/** Events that a batch does not take: they need a token, an answer of their own, or the order of other requests. */
const excluded: ReadonlySet<CreatableEvent> = new Set([
  'run_created',
  'run_started',
  'run_cancelled',
  'attr_set',
  'hook_created',
  'hook_received',
  'hook_disposed',
]);

export const maxBatch = 100;

export interface BatchRequest {
  readonly run: RunAddress;
  readonly requests: readonly WorldRequest[];
  readonly resolveData: ResolveData;
}

export async function createBatch(
  world: World,
  { run, requests, resolveData }: BatchRequest,
): Promise<WorldResult<{ readonly results: readonly JsonObject[] }>> {
  const unfit = requests.find(({ event }) => excluded.has(event));
  if (unfit !== undefined) return invalid('/events', `a batch takes no event of type ${unfit.event}`);
  if (requests.length > maxBatch) return invalid('/events', `a batch has at most ${maxBatch} events`);
  const result = await withRun(world, run, false, async (fold, isFresh) => {
    if (isPastDeadline(world.deps, fold)) await enforceDeadline(world, fold);
    const decide = (draft: Parameters<typeof decideRequest>[0]): readonly Decided[] =>
      requests.map((request) => decideRequest(draft, request));
    const { decided, commit } = await recordDecided(world, fold, decide, isFresh);
    const limitBytes = inlineLimitOf(requests.length);
    const results: JsonObject[] = [];
    for (const [index, request] of requests.entries()) {
      const each = decided[index];
      if (each !== undefined) results.push(await itemOf(world, fold, request, each, resolveData, commit, limitBytes));
    }
    return results;
  });
  return result === undefined ? noRun : answer({ results: result });
}

/** The statuses that the DevKit expects. */
const statuses: Readonly<Record<string, number>> = {
  entity_conflict: 409,
  run_expired: 410,
  too_early: 425,
  run_not_found: 404,
  step_not_found: 404,
  wait_not_found: 404,
  hook_not_found: 404,
};
const otherStatus = 422;

async function itemOf(
  world: World,
  fold: DevKitFold,
  request: WorldRequest,
  decided: Decided,
  resolveData: ResolveData,
  commit: Commit | undefined,
  limitBytes: number,
): Promise<JsonObject> {
  if (decided.kind === 'refused')
    return { status: statuses[decided.code] ?? otherStatus, error: decided.code, message: decided.message };
  const placed = commit === undefined ? [] : placedIn(commit).filter(({ id }) => id === decided.eventId);
  const [event] = await viewsOf(world.deps, fold, placed, resolveData, limitBytes);
  const run = request.event.startsWith('run_') ? await runOf(world.deps, fold, resolveData, limitBytes) : undefined;
  const { step, wait } = await entityOf(world, fold, request, resolveData, limitBytes);
  return defined({ status: 200, event, run, step, wait });
}
