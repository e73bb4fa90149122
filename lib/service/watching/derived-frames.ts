/** Builds the frames for sockets of derived events, which follow from the log and are not in it. */
import { defined } from '../../base/defined.ts';
import type { RunAddress } from '../../engine/ids.ts';
import { type DerivedEvent, derivedEvents } from '../../engine/log/derived-events.ts';
import { derivedEventNames } from '../../engine/log/event-names.ts';
import type { MappedEvent } from '../../engine/log/public-event.ts';
import type { RunState } from '../../engine/log/run-state.ts';
import { nodeUpdateName } from '../../engine/log/socket-update.ts';
import type { Deps } from '../deps.ts';
import { type SocketFrame, frameOf, maxDerivedFrames, withDocumentedNames } from './socket-frames.ts';

/**
 * The frame of a derived event has no `eventId`, because clients drop ids that they have seen. A cancelled node and a start have the
 * form of the other updates of a node.
 */
export function derivedFrame(event: DerivedEvent): SocketFrame {
  const { eventId: previous, sequence: _sequence, payload, ...envelope } = event;
  const position = { kind: 'derived', beforeEvent: previous + 1 } as const;
  if (event.type === derivedEventNames.log) return { position, text: JSON.stringify({ ...envelope, payload }) };
  const { nodeId = null, iteration, attempt = null } = payload;
  const status = event.type === derivedEventNames.cancelled ? 'cancelled' : 'running';
  const facts = defined({ instanceId: event.runId, nodeId, status, iteration, attempt, output: null, error: null });
  return { position, text: JSON.stringify({ ...envelope, type: nodeUpdateName, payload: withDocumentedNames(facts) }) };
}

/** The frames of one event and of the events derived from it, in order. */
export async function framesOf(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  run: RunAddress,
  state: RunState,
  mapped: MappedEvent,
): Promise<readonly SocketFrame[]> {
  const derived = derivedEvents(state, mapped).slice(0, maxDerivedFrames).map(derivedFrame);
  return [...derived, await frameOf(deps, run, mapped)];
}
