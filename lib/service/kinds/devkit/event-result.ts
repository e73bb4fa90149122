/** What a recorded event answers: the event, the entity that it changed, and the events that the application has not seen. */
import { defined } from '../../../base/defined.ts';
import type { Decided, Refused, WorldRequest } from '../../../engine/devkit/decide.ts';
import { maxEvents, slotId } from '../../../engine/devkit/events.ts';
import { eventId } from '../../../engine/ids.ts';
import type { JsonObject } from '../../../engine/json.ts';
import type { Commit } from '../../../engine/log/commit.ts';
import { hookOf, runOf, stepsOf } from './entities.ts';
import { type PlacedEvent, waitView } from './views.ts';
import { eventsBetween, listEvents, placedIn, viewsOf } from './read-events.ts';
import { type DevKitFold, type ResolveData, type World, devKitOf } from './world.ts';
import { type WorldResult, answer } from './world-error.ts';

export interface EventParams {
  readonly resolveData?: ResolveData;
  /** answer the events after this cursor */
  readonly sinceCursor?: string;
  /** events that the application had seen: those in between are answered */
  readonly eventCount?: number;
  /** a start answers no events */
  readonly skipPreload?: boolean;
  /** a resumption answers the run and all events */
  readonly preloadEvents?: boolean;
}

export interface EventResult {
  readonly event?: JsonObject;
  readonly run?: JsonObject;
  readonly step?: JsonObject;
  readonly hook?: JsonObject;
  readonly wait?: JsonObject;
  readonly stepCreated?: true;
  readonly maxEvents?: number;
  readonly events?: readonly JsonObject[];
  readonly cursor?: string | null;
  readonly hasMore?: boolean;
}

type Recorded = Exclude<Decided, Refused>;

export async function resultOf(
  world: World,
  fold: DevKitFold,
  request: WorldRequest,
  params: EventParams,
  decided: Recorded,
  commit: Commit | undefined,
): Promise<WorldResult<EventResult>> {
  const { deps } = world;
  const { resolveData = 'all' } = params;
  const placed = await placedEvent(world, fold, decided, commit);
  const [event] = placed === undefined ? [] : await viewsOf(deps, fold, [placed], resolveData);
  const isPreloaded = request.event === 'hook_received' && params.preloadEvents === true;
  const hasRun = isRunEvent(request) || isPreloaded;
  const run = hasRun ? await runOf(deps, fold, resolveData) : undefined;
  const seen = await seenEvents(world, fold, request, params, placed);
  if (seen.kind === 'refused') return seen;
  return answer(
    defined({
      event,
      run,
      maxEvents: hasRun ? maxEvents : undefined,
      ...(await entityOf(world, fold, request, resolveData)),
      stepCreated: decided.kind === 'accepted' ? decided.createdStep : undefined,
      ...seen.value,
    }),
  );
}

const isRunEvent = ({ event }: WorldRequest): boolean => event.startsWith('run_') || event === 'attr_set';

async function placedEvent(
  { deps }: World,
  fold: DevKitFold,
  { eventId: id }: Recorded,
  commit: Commit | undefined,
): Promise<PlacedEvent | undefined> {
  if (id === undefined) return undefined;
  const known = commit === undefined ? [] : placedIn(commit);
  const events = known.length > 0 ? known : await eventsBetween(deps, fold, id - 1, id);
  return events.find((placed) => placed.id === id);
}

/** The step, hook or wait that the event changed. */
export async function entityOf(
  { deps }: World,
  fold: DevKitFold,
  { event, correlationId = '' }: Pick<WorldRequest, 'event' | 'correlationId'>,
  resolveData: ResolveData,
  limitBytes?: number,
): Promise<Pick<EventResult, 'step' | 'hook' | 'wait'>> {
  const { steps, hooks, waits } = devKitOf(fold);
  if (event.startsWith('step_')) {
    const step = steps.get(correlationId);
    const [view] = step === undefined ? [] : await stepsOf(deps, fold, [step], resolveData, limitBytes);
    return defined({ step: view });
  }
  // A conflict has no hook.
  const hook = event === 'hook_created' ? hooks.get(correlationId) : undefined;
  if (hook !== undefined) return { hook: await hookOf(deps, fold, hook, resolveData, limitBytes) };
  const wait = event.startsWith('wait_') ? waits.get(correlationId) : undefined;
  return wait === undefined ? {} : { wait: waitView(fold.head.address, wait) };
}

type Seen = Pick<EventResult, 'events' | 'cursor' | 'hasMore'>;

/** The events that the application has not seen, as it asked for them. A delta contains those that a count leaves out. */
async function seenEvents(
  { deps }: World,
  fold: DevKitFold,
  request: WorldRequest,
  { sinceCursor, eventCount, skipPreload, preloadEvents, resolveData = 'all' }: EventParams,
  placed: PlacedEvent | undefined,
): Promise<WorldResult<Seen>> {
  const isStart = request.event === 'run_started' && skipPreload !== true;
  if (isStart || (request.event === 'hook_received' && preloadEvents === true)) return allEvents(deps, fold, resolveData);
  if (sinceCursor !== undefined) {
    const page = await listEvents(deps, fold, { cursor: sinceCursor }, resolveData);
    return page.kind === 'refused'
      ? page
      : answer({ events: page.value.data, cursor: page.value.cursor, hasMore: page.value.hasMore });
  }
  if (eventCount === undefined || eventCount < 1 || placed === undefined || placed.id <= eventCount + 1) return answer({});
  const cursor = slotId(eventId(eventCount));
  const skipped = await listEvents(deps, fold, { cursor, limit: placed.id - eventCount - 1 }, resolveData);
  if (skipped.kind === 'refused') return skipped;
  // No cursor: the application has not read up to a position.
  return answer({ events: skipped.value.data, cursor: null, hasMore: skipped.value.data.length < placed.id - eventCount - 1 });
}

async function allEvents(deps: World['deps'], fold: DevKitFold, resolveData: ResolveData): Promise<WorldResult<Seen>> {
  const page = await listEvents(deps, fold, {}, resolveData);
  if (page.kind === 'refused') return page;
  const { data, cursor, hasMore } = page.value;
  return answer({ events: data, cursor, hasMore });
}
