/** Contract of `Sockets`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keyId } from '../../lib/engine/ids.ts';
import { after, hours, minutes } from '../../lib/engine/time.ts';
import { MemoryIds } from '../../lib/memory/system.ts';
import type { Connection, Membership, Sockets } from '../../lib/ports/sockets.ts';
import { freshConnection } from './posts.suite.ts';
import { freshRun, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const ids = new MemoryIds(6);
const expiresAt = after(noon, hours(2));
const run = freshRun();
const scope = { projectId: run.projectId, environment: run.environment };

const connection = (facts: Partial<Connection> = {}): Connection => ({
  connectionId: freshConnection(),
  scope,
  keyId: keyId('0123456789'),
  expiresAt,
  ...facts,
});
const member = (of: Connection, facts: Partial<Membership> = {}): Membership => ({
  run: freshRun(),
  connectionId: of.connectionId,
  keyId: of.keyId,
  joinId: ids.nonce(),
  cursor: { after: 0, next: {} },
  isJoinAcknowledged: false,
  expiresAt,
  ...facts,
});

export const socketsSuite = ({ name, open }: Subject<Sockets>) =>
  describe(`sockets: ${name}`, () => {
    let opened: Opened<Sockets>;
    let sockets: Sockets;
    beforeAll(async () => {
      opened = await open();
      sockets = opened.port;
    });
    afterAll(() => opened.close());

    test('a connection has its scope, its key and its run', async () => {
      const [plain, ofOne] = [connection(), connection({ onlyRun: freshRun().runId })];
      await sockets.open(plain);
      await sockets.open(ofOne);
      expect(await sockets.connection(plain.connectionId)).toEqual({ connection: plain, joined: [] });
      expect(await sockets.connection(ofOne.connectionId)).toEqual({ connection: ofOne, joined: [] });
      expect(await sockets.connection(freshConnection())).toBeUndefined();
    });

    test('a run has exactly the watchers that joined it', async () => {
      const [one, other] = [connection(), connection()];
      const here = { ...freshRun(), ...scope };
      const members = [
        member(one, { run: here, cursor: { after: 7, next: { 'ask@each[0]': 3 } } }),
        member(other, { run: here }),
      ];
      for (const each of [...members, member(one, { run: { ...scope, runId: freshRun().runId } })]) await sockets.join(each);
      const { members: found, next } = await sockets.watchersOf(here);
      expect([...found].toSorted((a, b) => (a.joinId < b.joinId ? -1 : 1))).toEqual(
        members.toSorted((a, b) => (a.joinId < b.joinId ? -1 : 1)),
      );
      expect(next).toBeUndefined();
      expect(await sockets.watchersOf({ ...here, runId: freshRun().runId })).toEqual({ members: [] });
    });

    test('a connection that joins again has one membership, with the new cursor', async () => {
      const own = connection();
      const first = member(own);
      const again = member(own, { run: first.run, cursor: { after: 9, next: {} } });
      await sockets.join(first);
      await sockets.join(again);
      expect((await sockets.watchersOf(first.run)).members).toEqual([again]);
    });

    test('a membership is deleted when the connection leaves the run', async () => {
      const own = connection();
      await sockets.open(own);
      const [kept, left] = [
        member(own, { run: { ...scope, runId: freshRun().runId } }),
        member(own, { run: { ...scope, runId: freshRun().runId } }),
      ];
      await sockets.join(kept);
      await sockets.join(left);
      await sockets.leave(left.run, own.connectionId);
      await sockets.leave(left.run, own.connectionId);
      expect((await sockets.watchersOf(left.run)).members).toEqual([]);
      expect((await sockets.connection(own.connectionId))?.joined).toEqual([kept.run.runId]);
    });

    test('closing a connection deletes all its memberships', async () => {
      const own = connection();
      await sockets.open(own);
      const joined = [1, 2, 3].map(() => member(own, { run: { ...scope, runId: freshRun().runId } }));
      for (const each of joined) await sockets.join(each);
      await sockets.close(own.connectionId);
      expect(await sockets.connection(own.connectionId)).toBeUndefined();
      for (const { run: of } of joined) expect((await sockets.watchersOf(of)).members).toEqual([]);
      await sockets.close(own.connectionId);
    });

    test('the cursor of a watcher is saved, unless it has left or joined again', async () => {
      const own = connection();
      const first = member(own);
      const cursor = { after: 12, next: { ask: 4 } };
      await sockets.join(first);
      await sockets.saveCursor(first, cursor);
      expect((await sockets.watchersOf(first.run)).members).toEqual([{ ...first, cursor, isJoinAcknowledged: true }]);
      const again = member(own, { run: first.run });
      await sockets.join(again);
      await sockets.saveCursor(first, { after: 99, next: {} });
      expect((await sockets.watchersOf(first.run)).members).toEqual([again]);
      await sockets.leave(first.run, own.connectionId);
      await sockets.saveCursor(again, cursor);
      expect((await sockets.watchersOf(first.run)).members).toEqual([]);
    });

    test('the next broadcaster is announced and cleared, and the watchers do not change', async () => {
      const own = member(connection());
      await sockets.join(own);
      const next = { broadcastId: ids.nonce(), until: after(noon, minutes(5)) };
      await sockets.setNextBroadcast(own.run, { ...next, broadcastId: ids.nonce() });
      await sockets.setNextBroadcast(own.run, next);
      expect(await sockets.watchersOf(own.run)).toEqual({ members: [own], next });
      await sockets.setNextBroadcast(own.run, undefined);
      await sockets.setNextBroadcast(own.run, undefined);
      expect(await sockets.watchersOf(own.run)).toEqual({ members: [own] });
    });
  });
