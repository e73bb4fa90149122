/**
 * Requests about one run that come while this process commits another request of the run share the next commit. The code of a run
 * creates its parallel steps at once. Each alone, they would be a write unit each, and lose puts to each other.
 */
import { type Decided, decideRequest } from '../../../engine/devkit/decide.ts';
import type { CreatableEvent } from '../../../engine/devkit/events.ts';
import { minJsonLength } from '../../../engine/json.ts';
import { enforceDeadline, isPastDeadline } from '../../commit/deadline.ts';
import { type FoldCache, runKey } from '../../run-log/fold-cache.ts';
import type { CreateEventRequest } from './create-event.ts';
import { type EventResult, resultOf } from './event-result.ts';
import { markBeforeCommit } from './lost-effects.ts';
import { isTooLarge, recordDecided } from './record-decided.ts';
import { type DevKitFold, type World, withRun } from './world.ts';
import { type WorldResult, errorOf } from './world-error.ts';

/** undefined: the run does not exist */
type Answer = WorldResult<EventResult> | undefined;

/** The other events need a token, or change the run as a whole. */
const shareable: ReadonlySet<CreatableEvent> = new Set([
  'step_created',
  'step_started',
  'step_completed',
  'step_failed',
  'step_retrying',
  'wait_created',
  'wait_completed',
]);

/** Of a commit with several requests: each request waits for the whole commit. */
const maxSharedRequests = 50;
const maxSharedBytes = 65_536;

interface Waiting {
  readonly call: CreateEventRequest;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** The runs that this process commits to, each with the requests that wait. A process has one cache of folds. */
const processes = new WeakMap<FoldCache, Map<string, Waiting[]>>();

export const isShareable = ({ request }: CreateEventRequest): boolean => shareable.has(request.event);

/** Records an event about a step or a wait, alone or with others that wait. @throws what the commit throws, for each of its requests */
export function recordTogether(world: World, call: CreateEventRequest): Promise<Answer> {
  const runs = processes.get(world.foldCache) ?? new Map<string, Waiting[]>();
  processes.set(world.foldCache, runs);
  const key = runKey(call.run);
  return new Promise((resolve, reject) => {
    const waiting = runs.get(key);
    if (waiting !== undefined) return void waiting.push({ call, resolve, reject });
    const next: Waiting[] = [];
    runs.set(key, next);
    void recordAll(world, [{ call, resolve, reject }], next).finally(() => runs.delete(key));
  });
}

async function recordAll(world: World, first: readonly Waiting[], waiting: Waiting[]): Promise<void> {
  for (let group = first; group.length > 0; group = waiting.splice(0, sharedLength(waiting))) await recordGroup(world, group);
}

/** How many of the first requests share a commit. Two about one step do not: each answer shows the step as its request left it. */
function sharedLength(waiting: readonly Waiting[]): number {
  const ids = new Set<string | undefined>();
  let bytes = 0;
  for (const [length, { call }] of waiting.entries()) {
    const { correlationId, payload } = call.request;
    // The commit refers to a value that is stored elsewhere.
    if (payload !== undefined && 'value' in payload) bytes += minJsonLength(payload.value, maxSharedBytes + 1);
    if (length > 0 && (length === maxSharedRequests || bytes > maxSharedBytes || ids.has(correlationId))) return length;
    ids.add(correlationId);
  }
  return waiting.length;
}

async function recordGroup(world: World, group: readonly Waiting[]): Promise<void> {
  const [first] = group;
  if (first === undefined) return;
  try {
    const calls = group.map(({ call }) => call);
    const answers = await withRun(world, first.call.run, false, (fold, isFresh) => recordIn(world, fold, calls, isFresh));
    for (const [index, { resolve }] of group.entries()) resolve(answers?.[index]);
  } catch (error) {
    if (group.length > 1 && isTooLarge(error)) for (const each of group) await recordGroup(world, [each]);
    else for (const { reject } of group) reject(error);
  }
}

async function recordIn(
  world: World,
  fold: DevKitFold,
  calls: readonly CreateEventRequest[],
  isFresh: boolean,
): Promise<readonly Answer[]> {
  if (isPastDeadline(world.deps, fold)) await enforceDeadline(world, fold);
  for (const { request } of calls) await markBeforeCommit(world.deps, fold, request);
  const decide = (draft: Parameters<typeof decideRequest>[0]): readonly Decided[] =>
    calls.map(({ request }) => decideRequest(draft, request));
  const { decided, commit } = await recordDecided(world, fold, decide, isFresh);
  const answers: Answer[] = [];
  for (const [index, { request, params }] of calls.entries()) {
    const each = decided[index];
    if (each === undefined) answers.push(undefined);
    else answers.push(each.kind === 'refused' ? errorOf(each) : await resultOf(world, fold, request, params, each, commit));
  }
  return answers;
}
