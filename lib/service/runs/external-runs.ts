/** Reads external-worker runs: runs that workers of another library execute, in the namespace of the scope. */
import { defined } from '../../base/defined.ts';
import type { Scope } from '../../engine/ids.ts';
import { namespaceOf } from '../../engine/external/namespace.ts';
import { type ExternalNode, type ExternalRootCause, externalNodes, externalRootCause } from '../../engine/external/nodes.ts';
import { ExternalEvents } from '../../engine/external/public-events.ts';
import { type ExternalRun, type ExternalRunId, hasEnded } from '../../engine/external/run.ts';
import type { JsonValue } from '../../engine/json.ts';
import type { PublicEvent } from '../../engine/log/public-event.ts';
import { type DurationMs, durationMs, seconds } from '../../engine/time.ts';
import type { ExternalRunAddress } from '../../ports/external-runs.ts';
import { Unavailable } from '../../ports/unavailable.ts';
import type { Deps } from '../deps.ts';
import { type ShownValue, maxShownSteps, maxValuesBytes } from './get-run.ts';
import { type EventListing, withinBytes } from './list-events.ts';

export interface ExternalRunView {
  readonly run: ExternalRun;
  readonly input?: ShownValue;
  readonly output?: ShownValue;
  readonly rootCause?: ExternalRootCause;
  readonly nodes: readonly (ExternalNode & { readonly output?: ShownValue })[];
  readonly nodesOmitted?: number;
  readonly lastEventId: number;
}

const addressOf = (scope: Scope, runId: ExternalRunId): ExternalRunAddress => ({ namespaceId: namespaceOf(scope), runId });

/** The whole log. The first facts have the names of the steps that later facts refer to. */
async function readLog({ externalLogs }: Pick<Deps, 'externalLogs'>, scope: Scope, runId: ExternalRunId) {
  const reader = new ExternalEvents(runId);
  const events = reader.read(await externalLogs.entries(addressOf(scope, runId), 0));
  return { reader, events };
}

/** @param withValues false omits input and outputs. @returns undefined if the run does not exist in the scope */
export async function getExternalRun(
  deps: Pick<Deps, 'externalLogs'>,
  scope: Scope,
  runId: ExternalRunId,
  withValues: boolean,
): Promise<ExternalRunView | undefined> {
  const { reader } = await readLog(deps, scope, runId);
  const { state } = reader;
  if (state === undefined) return undefined;
  let freeBytes = withValues ? maxValuesBytes : 0;
  const shown = (value: JsonValue): ShownValue | undefined => {
    if (!withValues) return undefined;
    const bytes = Buffer.byteLength(JSON.stringify(value));
    if (bytes > freeBytes) return { omittedBytes: bytes };
    freeBytes -= bytes;
    return { value };
  };
  const { run } = state;
  const all = externalNodes(state);
  return defined({
    run,
    input: shown(run.input),
    output: run.status === 'completed' ? shown(run.output) : undefined,
    rootCause: externalRootCause(state),
    nodes: all
      .slice(-maxShownSteps)
      .map((node) => defined({ ...node, output: node.last.status === 'completed' ? shown(node.last.output) : undefined })),
    nodesOmitted: all.length > maxShownSteps ? all.length - maxShownSteps : undefined,
    lastEventId: reader.lastEventId,
  });
}

/** @param after the id of the last event seen; 0 before the first */
export async function listExternalEvents(
  deps: Pick<Deps, 'externalLogs'>,
  scope: Scope,
  runId: ExternalRunId,
  { after, limit }: { readonly after: number; readonly limit: number },
): Promise<EventListing> {
  const { reader, events: all } = await readLog(deps, scope, runId);
  if (reader.state === undefined) return { kind: 'not_found' };
  const newer = all.slice(after);
  const events = withinBytes(newer.slice(0, limit).map((event) => [event])).flat();
  return { kind: 'found', events, last: events.at(-1)?.eventId ?? after, hasMore: newer.length > events.length };
}

/** An external-worker run to follow, as of the first read. */
export interface FollowedExternalRun {
  readonly address: ExternalRunAddress;
  readonly reader: ExternalEvents;
  readonly events: readonly PublicEvent[];
}

/** Reads the run for the first time; undefined if it does not exist in this scope. */
export async function beginFollowingExternal(
  deps: Pick<Deps, 'externalLogs'>,
  scope: Scope,
  runId: ExternalRunId,
): Promise<FollowedExternalRun | undefined> {
  const { reader, events } = await readLog(deps, scope, runId);
  return reader.state === undefined ? undefined : { address: addressOf(scope, runId), reader, events };
}

export const hasSeenAllExternal = ({ reader }: FollowedExternalRun, after: number): boolean =>
  hasReadAll(reader) && after >= reader.lastEventId;

const hasReadAll = ({ state }: ExternalEvents): boolean => state !== undefined && hasEnded(state.run);

/** Poll interval while events arrive; it grows by half after each poll without events. */
const minPollInterval = durationMs(200);
const maxPollInterval = { claimed: seconds(1), waiting: seconds(5) } as const;

/** Ends after the run's last event. */
export async function* followExternalRun(
  deps: Pick<Deps, 'externalLogs' | 'clock'>,
  { address, reader, events: first }: FollowedExternalRun,
  after: number,
): AsyncGenerator<{ readonly kind: 'event'; readonly event: PublicEvent } | { readonly kind: 'idle' }, void, undefined> {
  let events = first.filter(({ eventId }) => eventId > after);
  for (let interval: DurationMs = minPollInterval; ;) {
    for (const event of events) yield { kind: 'event', event };
    if (hasReadAll(reader)) return;
    if (events.length === 0) yield { kind: 'idle' };
    const max = reader.state?.run.workerId === null ? maxPollInterval.waiting : maxPollInterval.claimed;
    interval = events.length > 0 ? minPollInterval : durationMs(Math.min(max, interval * 1.5));
    await deps.clock.sleep(interval);
    events = [...(await readNew(deps, address, reader))].filter(({ eventId }) => eventId > after);
  }
}

/** The next poll repeats a failed read. */
async function readNew(
  { externalLogs }: Pick<Deps, 'externalLogs'>,
  address: ExternalRunAddress,
  reader: ExternalEvents,
): Promise<readonly PublicEvent[]> {
  try {
    return reader.read(await externalLogs.entries(address, reader.state?.last ?? 0));
  } catch (error) {
    if (error instanceof Unavailable) return [];
    throw error;
  }
}
