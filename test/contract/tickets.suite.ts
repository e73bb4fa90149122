/** Contract of `Tickets`. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { keyId } from '../../lib/engine/ids.ts';
import { after, minutes } from '../../lib/engine/time.ts';
import { MemoryIds } from '../../lib/memory/system.ts';
import type { Ticket, Tickets } from '../../lib/ports/watching.ts';
import { expiresAt, freshRun, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

const ids = new MemoryIds(5);
const digest = (): string => randomBytes(32).toString('hex');
const ticket = (): Ticket => ({ run: freshRun(), keyId: keyId('0123456789'), expiresAt: after(noon, minutes(1)) });

export const ticketsSuite = ({ name, open }: Subject<Tickets>) =>
  describe(`tickets: ${name}`, () => {
    let opened: Opened<Tickets>;
    let tickets: Tickets;
    beforeAll(async () => {
      opened = await open();
      tickets = opened.port;
    });
    afterAll(() => opened.close());

    test('one of twenty concurrent redemptions succeeds', async () => {
      const name = digest();
      await tickets.put(name, ticket(), expiresAt);
      const taken = await Promise.all(Array.from({ length: 20 }, () => tickets.redeem(name, ids.nonce())));
      expect(taken.filter(Boolean)).toHaveLength(1);
    });

    test('a repeated redemption with the same nonce succeeds, as after a lost response', async () => {
      const [name, mine] = [digest(), ids.nonce()];
      await tickets.put(name, ticket(), expiresAt);
      expect([
        await tickets.redeem(name, mine),
        await tickets.redeem(name, mine),
        await tickets.redeem(name, ids.nonce()),
      ]).toEqual([true, true, false]);
    });

    test('a ticket is read as it was put, redeemed or not', async () => {
      const [name, mine] = [digest(), ticket()];
      await tickets.put(name, mine, expiresAt);
      expect(await tickets.ticket(name)).toEqual(mine);
      await tickets.redeem(name, ids.nonce());
      expect(await tickets.ticket(name)).toEqual(mine);
    });

    test('a missing ticket cannot be redeemed', async () => {
      const name = digest();
      expect([await tickets.redeem(name, ids.nonce()), await tickets.ticket(name)]).toEqual([false, undefined]);
    });
  });
