/** The calls of the World about events. An event that no item holds is refused by its size; the run goes on. */
import type { JsonObject } from '../../../engine/json.ts';
import { type BatchRequest, createBatch } from './create-batch.ts';
import { type CreateEventRequest, createEvent } from './create-event.ts';
import type { EventResult } from './event-result.ts';
import { isTooLarge } from './record-decided.ts';
import type { World } from './world.ts';
import { type WorldResult, refused } from './world-error.ts';

export { findEvent, listByCorrelation, listEvents } from './read-events.ts';
export type { DevKitFold as Fold } from './world.ts';

export const createWorldEvent = (world: World, request: CreateEventRequest): Promise<WorldResult<EventResult>> =>
  refusingTooLarge(() => createEvent(world, request));

export const createWorldBatch = (
  world: World,
  request: BatchRequest,
): Promise<WorldResult<{ readonly results: readonly JsonObject[] }>> => refusingTooLarge(() => createBatch(world, request));

async function refusingTooLarge<Value>(call: () => Promise<WorldResult<Value>>): Promise<WorldResult<Value>> {
  try {
    return await call();
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return refused('payload_too_large', error.message);
  }
}
