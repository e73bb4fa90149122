/** Server-sent events: one frame for each thing that is seen. Only events of the log have an id, for readers resume by it. */
import { heartbeatEventName } from '../../../lib/engine/log/event-names.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { StreamUpdate } from '../../../lib/service/watching/watch-run.ts';

/** How long a browser waits before it goes on with another stream, in milliseconds. */
const retryMs = 1_000;

export const eventStreamHeaders = {
  'content-type': 'text/event-stream; charset=utf-8',
  // Nobody on the way may keep it, squeeze it, or wait until there is more of it.
  'cache-control': 'no-cache, no-transform, no-store',
  'x-accel-buffering': 'no',
} as const;

/** JSON has no line breaks, so each frame's data is one line. */
const frame = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;

/** The first frame goes out at once: a reader then knows that it is connected. */
export async function* framesOf(runId: string, updates: AsyncIterable<StreamUpdate>): AsyncGenerator<string, void, undefined> {
  yield `retry: ${retryMs}\n\n`;
  for await (const update of updates) {
    switch (update.kind) {
      case 'event':
        yield `id: ${update.event.eventId}\n${frame(update.event.type, update.event)}`;
        break;
      case 'delta':
        yield frame(update.delta.type, update.delta);
        break;
      case 'heartbeat':
        yield frame(heartbeatEventName, { type: heartbeatEventName, runId, timestamp: iso(update.at) });
        break;
    }
  }
}
