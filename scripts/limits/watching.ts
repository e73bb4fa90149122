/** Limits of event streams and of WebSocket connections. */
import { maxReaderNameLength } from '../../lib/api/schemas/runs.ts';
import { socketMessageLimitBytes } from '../../lib/api/schemas/sockets.ts';
import { functionShapes } from '../../lib/constructs/function-shapes.ts';
import { defaultConcurrency } from '../../lib/contract/concurrency.ts';
import { socketLimits } from '../../lib/local/limits.ts';
import { maxDeltaLength, maxPendingLength, minWriteInterval } from '../../lib/service/kinds/graph/stream-writer.ts';
import { maxBroadcastDuration, socketHeartbeatInterval } from '../../lib/service/watching/broadcast-run.ts';
import { maxSubscriptions } from '../../lib/service/watching/delta-subscriptions.ts';
import { maxJoinedRuns } from '../../lib/service/watching/join-run.ts';
import { ticketLifetime } from '../../lib/service/watching/open-with-ticket.ts';
import { maxDerivedFrames, maxFrameBytes, maxFrameValueBytes } from '../../lib/service/watching/socket-frames.ts';
import { maxPosts, maxQueuedBytes } from '../../lib/service/watching/socket-subscriber.ts';
import { heartbeatInterval, maxStreamDuration } from '../../lib/service/watching/watch-run.ts';
import { pages } from './aws-quotas.ts';
import { type LimitSection, bytes, characters, count, minutes, phrase, seconds } from './limit.ts';

export const watching: LimitSection = {
  title: 'Watching a run',
  per: 'stream',
  limits: [
    {
      name: 'Stream of events',
      value: minutes(maxStreamDuration),
      atLimit: 'the stream ends; the reader reconnects with the last id',
      definedIn: ['lib/service/watching/watch-run.ts'],
    },
    {
      name: 'Heartbeats in a stream',
      value: seconds(heartbeatInterval),
      atLimit: 'interval of `heartbeat` frames, which have no id',
      definedIn: ['lib/service/watching/watch-run.ts'],
    },
    {
      name: 'Name of a reader',
      value: characters(maxReaderNameLength),
      atLimit: '`invalid_request` (400)',
      definedIn: ['lib/api/schemas/runs.ts'],
    },
    {
      name: 'Readers of events at once',
      value: count(defaultConcurrency.watchers),
      per: 'installation',
      atLimit:
        '`unavailable` (503) with `Retry-After`; setting `watchers`. If a function crashes, its slot is free again after 6 min',
      definedIn: ['lib/contract/concurrency.ts'],
    },
    {
      name: 'Node streams of one reader',
      value: count(maxSubscriptions),
      atLimit: 'the reader sees only the completion of further nodes',
      definedIn: ['lib/service/watching/delta-subscriptions.ts'],
    },
    {
      name: 'Interval between deltas of a node',
      value: seconds(minWriteInterval),
      per: 'node',
      atLimit: 'output that a node writes in between is in the next delta',
      definedIn: ['lib/service/kinds/graph/stream-writer.ts'],
    },
    {
      name: 'A delta',
      value: characters(maxDeltaLength),
      per: 'delta',
      atLimit: 'the rest is in the next delta',
      definedIn: ['lib/service/kinds/graph/stream-writer.ts'],
    },
    {
      name: 'Output of a node not written yet',
      value: characters(maxPendingLength),
      per: 'node',
      atLimit: 'Stepwell streams no more; the completion has the whole output',
      definedIn: ['lib/service/kinds/graph/stream-writer.ts'],
    },
    {
      name: 'A ticket to watch a run',
      value: phrase`${seconds(ticketLifetime)}, once`,
      per: 'ticket',
      atLimit: '`ticket_invalid` (401)',
      definedIn: ['lib/service/watching/open-with-ticket.ts'],
    },
    {
      name: 'Runs watched over sockets at once',
      value: count(defaultConcurrency.watchedRuns),
      per: 'installation',
      atLimit: 'a join receives `joined` when a broadcaster is free; setting `watchedRuns`',
      definedIn: ['lib/contract/concurrency.ts'],
    },
    {
      name: 'Runs of one socket',
      value: count(maxJoinedRuns),
      per: 'socket',
      atLimit: '`invalid_request` with `too_many_runs`',
      definedIn: ['lib/service/watching/join-run.ts'],
    },
    {
      name: 'Messages for nodes that one event cancelled',
      value: count(maxDerivedFrames),
      per: 'event',
      atLimit: 'the other nodes have no message; the run has their status',
      definedIn: ['lib/service/watching/socket-frames.ts'],
    },
    {
      name: 'Message of a client over a socket',
      value: bytes(socketMessageLimitBytes),
      per: 'message',
      atLimit: "`payload_too_large`. The limit is below the gateway's own limits",
      definedIn: ['lib/api/schemas/sockets.ts'],
    },
    {
      name: 'Frame of a client over a socket',
      value: bytes(socketLimits.frameBytes),
      per: 'frame',
      atLimit: 'the gateway closes the socket with 1009, and so does the embedded cloud',
      definedIn: ['lib/local/limits.ts'],
      quota: pages.apiGateway,
    },
    {
      name: 'Message to a client over a socket',
      value: bytes(Math.min(maxFrameBytes, socketLimits.messageBytes)),
      per: 'message',
      atLimit: 'Stepwell omits a larger value and states its size',
      definedIn: ['lib/service/watching/socket-frames.ts', 'lib/local/limits.ts'],
      quota: pages.apiGateway,
    },
    {
      name: 'Output or context in such a message',
      value: bytes(maxFrameValueBytes),
      per: 'message',
      atLimit: 'the value is `null`, and the message has its size',
      definedIn: ['lib/service/watching/socket-frames.ts'],
    },
    {
      name: 'Posts of one message to a socket',
      value: count(maxPosts),
      per: 'message',
      atLimit: 'each try lasts two seconds; then Stepwell closes the socket',
      definedIn: ['lib/service/watching/socket-subscriber.ts'],
    },
    {
      name: 'Waiting for one socket',
      value: bytes(maxQueuedBytes),
      per: 'socket',
      atLimit: 'Stepwell closes a socket with more unsent data',
      definedIn: ['lib/service/watching/socket-subscriber.ts'],
    },
    {
      name: 'Heartbeats over a socket',
      value: seconds(socketHeartbeatInterval),
      per: 'socket',
      atLimit: 'interval of heartbeats. The gateway closes a socket after 10 minutes without traffic',
      definedIn: ['lib/service/watching/broadcast-run.ts'],
    },
    {
      name: 'Time a broadcaster handles one message',
      value: seconds(maxBroadcastDuration),
      per: 'message',
      atLimit: 'another broadcaster continues from there',
      definedIn: ['lib/service/watching/broadcast-run.ts'],
    },
    {
      name: 'Timeout of a broadcaster',
      value: seconds(functionShapes.broadcaster.timeoutSeconds * 1_000),
      per: 'invocation',
      atLimit: 'Lambda ends it, and another broadcaster replaces it a minute later',
      definedIn: ['lib/constructs/function-shapes.ts'],
    },
  ],
};
