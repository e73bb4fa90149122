/** A run that is watched over sockets, on the memory ports: connections, broadcasters and the received messages. */
import type { ConnectionId, KeyId, RunAddress } from '../../lib/engine/ids.ts';
import { connectionId, keyId, nodeId, nodeKey, nonce, topLevel, attempt } from '../../lib/engine/ids.ts';
import { type Instant, after, hours, seconds } from '../../lib/engine/time.ts';
import { MemoryPosts, MemorySockets, MemoryWatches } from '../../lib/memory/sockets.ts';
import type { Connection } from '../../lib/ports/sockets.ts';
import type { Watch } from '../../lib/ports/watches.ts';
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
  /** delivers the next message to a broadcaster while time passes; returns its result */
  broadcast(options?: Speaking): Promise<string>;
  /** broadcasts until no message remains */
  settle(options?: Speaking): Promise<readonly string[]>;
  /** the messages that a connection received */
  framesOf(name: string): readonly ReceivedFrame[];
  appendDelta(run: RunAddress, index: number): Promise<unknown>;
}

interface Speaking {
  readonly isAllowed?: (key: KeyId) => Promise<boolean>;
  readonly mustEndAt?: Instant;
  readonly deps?: Partial<BroadcasterDeps>;
  /** called when time passes */
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
      if (watch === undefined) throw new Error('nobody asked for a speaker');
      const endsAt = mustEndAt ?? after(clock.now(), seconds(120));
      let outcome: { readonly value: string } | { readonly trouble: unknown } | undefined;
      void broadcastRun({ ...deps, ...changed }, watch, { isAllowed, mustEndAt: endsAt }).then(
        (value) => (outcome = { value }),
        (trouble: unknown) => (outcome = { trouble }),
      );
      while (outcome === undefined) {
        for (let turn = 0; turn < 20 && outcome === undefined; turn += 1) await new Promise((resolve) => setImmediate(resolve));
        if (outcome !== undefined) break;
        await onPause?.();
        const wakeAt = env.ports.clock.nextWakeAt();
        if (wakeAt !== undefined) env.ports.clock.set(wakeAt);
      }
      if ('trouble' in outcome) throw outcome.trouble;
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
