/** Server-sent events: one frame for each thing that is seen. Only events of the log have an id, for readers resume by it. */
import { heartbeatEventName } from '../../../lib/engine/log/event-names.ts';
import { iso } from '../../../lib/engine/time.ts';
import type { Seen } from '../../../lib/service/watch-run.ts';

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
export async function* framesOf(runId: string, seen: AsyncIterable<Seen>): AsyncGenerator<string, void, undefined> {
  yield `retry: ${retryMs}\n\n`;
  for await (const one of seen) {
    switch (one.kind) {
      case 'event':
        yield `id: ${one.event.eventId}\n${frame(one.event.type, one.event)}`;
        break;
      case 'delta':
        yield frame(one.delta.type, one.delta);
        break;
      case 'heartbeat':
        yield frame(heartbeatEventName, { type: heartbeatEventName, runId, timestamp: iso(one.at) });
        break;
    }
  }
}
