/** Contract of `Sessions`. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { environment, keyId, projectId, sessionId } from '../../lib/engine/ids.ts';
import { after, hours, minutes } from '../../lib/engine/time.ts';
import { MemoryIds } from '../../lib/memory/system.ts';
import type { Session, SessionLink, Sessions } from '../../lib/ports/sessions.ts';
import { expiresAt, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const ids = new MemoryIds(6);
const digest = (): string => randomBytes(32).toString('hex');
const link: SessionLink = { keyId: keyId('0123456789'), expiresAt: after(noon, minutes(1)) };
const session = (): Session => ({
  id: sessionId(`ses_${randomBytes(16).toString('base64url')}`),
  subject: 'key:0123456789',
  projectId: projectId('default'),
  environment: environment('prod'),
  keyId: keyId('0123456789'),
  createdAt: noon,
  expiresAt: after(noon, hours(12)),
  lastUsedAt: noon,
});

export const sessionsSuite = ({ name, open }: Subject<Sessions>) =>
  describe(`sessions: ${name}`, () => {
    let opened: Opened<Sessions>;
    let sessions: Sessions;
    beforeAll(async () => {
      opened = await open();
      sessions = opened.port;
    });
    afterAll(() => opened.close());

    test('one of twenty concurrent redemptions of a link succeeds', async () => {
      const name = digest();
      await sessions.putLink(name, link, expiresAt);
      const taken = await Promise.all(Array.from({ length: 20 }, () => sessions.redeemLink(name, ids.nonce())));
      expect(taken.filter(Boolean)).toHaveLength(1);
    });

    test('a repeated redemption with the same nonce succeeds, as after a lost response', async () => {
      const [name, mine] = [digest(), ids.nonce()];
      await sessions.putLink(name, link, expiresAt);
      expect([
        await sessions.redeemLink(name, mine),
        await sessions.redeemLink(name, mine),
        await sessions.redeemLink(name, ids.nonce()),
      ]).toEqual([true, true, false]);
      expect(await sessions.link(name)).toEqual(link);
    });

    test('a missing link cannot be redeemed, and the attempt creates none', async () => {
      const name = digest();
      expect([await sessions.redeemLink(name, ids.nonce()), await sessions.link(name)]).toEqual([false, undefined]);
    });

    test('a session is read as it was put, and is gone after its deletion', async () => {
      const [name, mine] = [digest(), session()];
      await sessions.put(name, mine);
      expect(await sessions.session(name)).toEqual(mine);
      await sessions.delete(name);
      await sessions.delete(name);
      expect(await sessions.session(name)).toBeUndefined();
    });

    test('a use is recorded if it is later than the recorded one', async () => {
      const [name, mine] = [digest(), session()];
      await sessions.put(name, mine);
      const lastUsedAt = after(noon, minutes(7));
      await sessions.recordUse(name, lastUsedAt);
      await sessions.recordUse(name, after(noon, minutes(5)));
      expect(await sessions.session(name)).toEqual({ ...mine, lastUsedAt });
    });

    test('a use of a deleted session does not bring it back', async () => {
      const name = digest();
      await sessions.put(name, session());
      await sessions.delete(name);
      await sessions.recordUse(name, after(noon, minutes(5)));
      expect(await sessions.session(name)).toBeUndefined();
    });

    test('rights are raised and lowered, and a lost session stays lost', async () => {
      const [name, mine] = [digest(), session()];
      const raised = { keyId: keyId('abcdefghij'), until: after(noon, minutes(15)) };
      await sessions.put(name, mine);
      expect([await sessions.raise(name, raised), await sessions.session(name)]).toEqual([true, { ...mine, raised }]);
      const later = { ...raised, until: after(noon, minutes(20)) };
      expect([await sessions.raise(name, later), await sessions.session(name)]).toEqual([true, { ...mine, raised: later }]);
      expect([await sessions.raise(name, undefined), await sessions.session(name)]).toEqual([true, mine]);
      expect([await sessions.raise(name, undefined), await sessions.session(name)]).toEqual([true, mine]);
      await sessions.delete(name);
      expect([await sessions.raise(name, raised), await sessions.session(name)]).toEqual([false, undefined]);
      expect([await sessions.raise(name, undefined), await sessions.session(name)]).toEqual([false, undefined]);
    });

    test('a session is stored with raised rights', async () => {
      const [name, mine] = [digest(), { ...session(), raised: { keyId: keyId('abcdefghij'), until: after(noon, minutes(15)) } }];
      await sessions.put(name, mine);
      expect(await sessions.session(name)).toEqual(mine);
    });

    test('links and sessions of one digest are different records', async () => {
      const name = digest();
      await sessions.putLink(name, link, expiresAt);
      expect(await sessions.session(name)).toBeUndefined();
    });
  });
