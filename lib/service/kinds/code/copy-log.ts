/** Copies the log of an earlier run for a rerun from a step, with its offloaded values. */
import { type CopiedEntry, copiedEvents } from '../../../engine/durable/rerun-from-step.ts';
import type { RunAddress } from '../../../engine/ids.ts';
import { invariant } from '../../../engine/invariant.ts';
import type { Payload } from '../../../engine/json.ts';
import type { RunEvent } from '../../../engine/log/events.ts';
import type { Head } from '../../../engine/log/head.ts';
import { childRunId } from '../../commit/child-run-id.ts';
import type { Deps } from '../../deps.ts';
import type { ResolvedCode } from '../../new-run.ts';
import { loadPayload, offload } from '../../run-log/payloads.ts';

/** Whether the value of the entry is stored outside the log. */
export function hasLargeValue(entry: CopiedEntry): boolean {
  const payload = entry.kind === 'begun' ? undefined : payloadIn(entry.event);
  return payload !== undefined && 'ref' in payload;
}

function payloadIn(event: RunEvent): Payload | undefined {
  if (event.type === 'NODE_COMPLETED') return event.output;
  return event.type === 'SUBFLOW_CALLED' ? event.input : undefined;
}

/** The events of the copied log, a commit's worth at a time. Offloaded values are copied, because they expire with their run. */
export async function copyLog(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { from, entries }: NonNullable<ResolvedCode['copied']>,
  run: Pick<Head, 'address' | 'expiresAt'>,
): Promise<readonly (readonly RunEvent[])[]> {
  const events = copiedEvents(entries, {
    sourceRun: from.runId,
    run: run.address.runId,
    childRunId: (node, attempt) => childRunId(run.address.runId, node, attempt),
  });
  const copies: RunEvent[] = [];
  for (let start = 0; start < events.length; start += maxConcurrentCopies)
    copies.push(
      ...(await Promise.all(
        events.slice(start, start + maxConcurrentCopies).map((event) => withOwnValue(deps, { from, run, event })),
      )),
    );
  return inBatches(copies);
}

/** Values of several MB may be in memory at the same time. */
const maxConcurrentCopies = 10;

interface ValueCopy {
  readonly from: RunAddress;
  readonly run: Pick<Head, 'address' | 'expiresAt'>;
  readonly event: RunEvent;
}

async function withOwnValue(deps: Pick<Deps, 'blobs' | 'clock' | 'log'>, { from, run, event }: ValueCopy): Promise<RunEvent> {
  const payload = payloadIn(event);
  if (payload === undefined || 'value' in payload) return event;
  const value = await loadPayload(deps, from, payload.ref);
  const own = await offload(deps, { ...run, kind: 'code' }, { value });
  if (event.type === 'NODE_COMPLETED') return { ...event, output: own };
  invariant(event.type === 'SUBFLOW_CALLED', `${event.type} has no value`);
  return { ...event, input: own };
}

/** JSON characters of the events of one commit, each value counted up to its inline limit: below the limit of a commit. */
const maxBatchLength = 131_072;
const maxEventLength = 12_288;

function inBatches(events: readonly RunEvent[]): readonly (readonly RunEvent[])[] {
  const batches: RunEvent[][] = [];
  let length = Infinity;
  for (const event of events) {
    const weight = Math.min(JSON.stringify(event).length, maxEventLength);
    length += weight;
    if (length > maxBatchLength) {
      batches.push([]);
      length = weight;
    }
    batches.at(-1)?.push(event);
  }
  return batches;
}
