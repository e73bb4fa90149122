/** The calls of the World about events. An event that no item holds is refused by its size; the run goes on. */
import type { WorldRequest } from '../../../engine/devkit/decide.ts';
import type { JsonObject } from '../../../engine/json.ts';
import { type BatchRequest, createBatch } from './create-batch.ts';
import { type CreateEventRequest, createEvent } from './create-event.ts';
import type { EventResult } from './event-result.ts';
import { isTooLarge } from './record-decided.ts';
import { withUpload } from './uploads.ts';
import type { World } from './world.ts';
import { type WorldResult, refused } from './world-error.ts';

export { findEvent, listByCorrelation, listEvents } from './read-events.ts';
export type { DevKitFold as Fold } from './world.ts';

export const createWorldEvent = (world: World, call: CreateEventRequest): Promise<WorldResult<EventResult>> =>
  refusingTooLarge(async () => {
    const request = await withUpload(world.deps, call.run, call.request);
    return 'code' in request ? request : createEvent(world, { ...call, request });
  });

export const createWorldBatch = (
  world: World,
  batch: BatchRequest,
): Promise<WorldResult<{ readonly results: readonly JsonObject[] }>> =>
  refusingTooLarge(async () => {
    const requests: WorldRequest[] = [];
    for (const each of batch.requests) {
      const request = await withUpload(world.deps, batch.run, each);
      if ('code' in request) return request;
      requests.push(request);
    }
    return createBatch(world, { ...batch, requests });
  });

async function refusingTooLarge<Value>(call: () => Promise<WorldResult<Value>>): Promise<WorldResult<Value>> {
  try {
    return await call();
  } catch (error) {
    if (!isTooLarge(error)) throw error;
    return refused('payload_too_large', error.message);
  }
}
