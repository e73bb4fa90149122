/** A run that is watched over sockets, on the ports in memory: memberships, broadcasts and received frames. */
import {
  type ConnectionId,
  type KeyId,
  type RunAddress,
  connectionId,
  keyId,
  nodeId,
  nodeKey,
  nonce,
  topLevel,
  attempt,
} from '../../lib/engine/ids.ts';
import { type Instant, after, hours, seconds } from '../../lib/engine/time.ts';
import { MemoryPosts, MemorySockets, MemoryWatches } from '../../lib/memory/sockets.ts';
import type { Connection, Watch } from '../../lib/ports/sockets.ts';
import { type JoinResult, joinRun } from '../../lib/service/watching/join-run.ts';
import { type BroadcasterDeps, broadcastRun } from '../../lib/service/watching/broadcast-run.ts';
import { expiresAt } from '../contract/samples.ts';
import { type TestEnv, scope } from './test-env.ts';

export interface ReceivedFrame {
  readonly type: string;
  readonly eventId?: number;
  readonly after?: number;
  readonly payload?: Readonly<Record<string, unknown>>;
}

export interface SocketTestEnv {
  readonly sockets: MemorySockets;
  readonly posts: MemoryPosts;
  readonly watches: MemoryWatches;
  join(name: string, run: RunAddress, options?: { after?: number; onlyRun?: RunAddress; key?: string }): Promise<JoinResult>;
  /** runs the broadcaster for the next message, while the clock advances; returns its result */
  broadcast(options?: BroadcastOptions): Promise<string>;
  /** broadcasts until no message is left */
  settle(options?: BroadcastOptions): Promise<readonly string[]>;
  /** the frames received by a connection */
  framesOf(name: string): readonly ReceivedFrame[];
  appendDelta(run: RunAddress, index: number): Promise<unknown>;
}

interface BroadcastOptions {
  readonly isAllowed?: (key: KeyId) => Promise<boolean>;
  readonly mustEndAt?: Instant;
  readonly deps?: Partial<BroadcasterDeps>;
  /** called at every advance of the clock */
  readonly onPause?: () => unknown;
}

export const connectionIdOf = (name: string): ConnectionId => connectionId(name);

export const createSocketTestEnv = (env: TestEnv): SocketTestEnv => {
  const [sockets, posts, watches] = [new MemorySockets(), new MemoryPosts(), new MemoryWatches()];
  const { clock, log, streams, blobs, ids } = env.deps;
  const deps: BroadcasterDeps = { clock, log, streams, blobs, ids, sockets, posts, watches };
  const waiting: Watch[] = [];

  const self: SocketTestEnv = {
    sockets,
    posts,
    watches,
    async join(name, run, { after: from = 0, onlyRun, key = '0123456789' } = {}) {
      const connection: Connection = {
        connectionId: connectionIdOf(name),
        scope,
        keyId: keyId(key),
        ...(onlyRun === undefined ? {} : { onlyRun: onlyRun.runId }),
        expiresAt: after(clock.now(), hours(2)),
      };
      await sockets.open(connection);
      const joined = (await sockets.connection(connection.connectionId))?.joined ?? [];
      return joinRun({ log, ids, sockets, watches }, { connection, joined, runId: run.runId, after: from });
    },
    async broadcast({ isAllowed = async () => true, mustEndAt, deps: changed = {}, onPause } = {}) {
      waiting.push(...watches.sent.splice(0));
      const [watch] = waiting;
      if (watch === undefined) throw new Error('no message for a broadcaster was sent');
      const endsAt = mustEndAt ?? after(clock.now(), seconds(120));
      let outcome: { readonly value: string } | { readonly error: unknown } | undefined;
      void broadcastRun({ ...deps, ...changed }, watch, { isAllowed, mustEndAt: endsAt }).then(
        (value) => (outcome = { value }),
        (error: unknown) => (outcome = { error }),
      );
      while (outcome === undefined) {
        for (let turn = 0; turn < 20 && outcome === undefined; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        if (outcome !== undefined) break;
        await onPause?.();
        const wakeAt = env.ports.clock.nextWakeAt();
        if (wakeAt !== undefined) env.ports.clock.set(wakeAt);
      }
      if ('error' in outcome) throw outcome.error;
      waiting.shift();
      return outcome.value;
    },
    async settle(options) {
      const outcomes: string[] = [];
      while (waiting.length + watches.sent.length > 0) outcomes.push(await self.broadcast(options));
      return outcomes;
    },
    framesOf: (name) => posts.posted.filter(({ to }) => to === name).map(({ text }): ReceivedFrame => JSON.parse(text)),
    appendDelta: (run, index) =>
      env.ports.streams.put(
        run,
        nodeKey({ nodeId: nodeId('talk'), iteration: topLevel }),
        { index, attempt: attempt(1), owner: nonce('a'), text: `part ${index}`, at: clock.now() },
        expiresAt,
      ),
  };
  return self;
};
