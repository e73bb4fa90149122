/** Contract of `Keys`, `Reservations`, `Audit` and `RateWindows`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Scope, environment, keyId } from '../../lib/engine/ids.ts';
import { type Instant, after, days, hours, instant, minutes } from '../../lib/engine/time.ts';
import {
  type ApiKey,
  type Audit,
  type AuditEntry,
  type AuditPage,
  type AuditPosition,
  type KeyPosition,
  type Keys,
  type RateWindows,
  type Reservation,
  type Reservations,
  keyScopes,
} from '../../lib/ports/control.ts';
import { freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface ControlStoresUnderTest {
  readonly keys: Keys;
  readonly reservations: Reservations;
  readonly audit: Audit;
  readonly rates: RateWindows;
  /** The number of audit entries of the scope and the day. */
  audited(scope: Scope | null, at: Instant): Promise<number>;
}

export const controlSuite = ({ name, open }: Subject<ControlStoresUnderTest>) =>
  describe(`control: ${name}`, () => {
    let opened: Opened<ControlStoresUnderTest>;
    let control: ControlStoresUnderTest;
    beforeAll(async () => {
      opened = await open();
      control = opened.port;
    });
    afterAll(() => opened.close());

    const apiKey = (id: string, facts: Partial<ApiKey> = {}): ApiKey => ({
      keyId: keyId(id),
      ...freshScope(),
      scopes: ['runs:read'],
      secretHash: 'cd'.repeat(32),
      createdAt: noon,
      ...facts,
    });

    describe('API keys', () => {
      test('a key is read as it was stored', async () => {
        const stored = [
          apiKey('plainkey'),
          apiKey('unlimited1', { rateLimitPerMinute: null, scopes: keyScopes }),
          apiKey('limited123', {
            rateLimitPerMinute: 60,
            expiresAt: after(noon, days(90)),
            revokedAt: noon,
            scopes: ['admin', 'deploy:read'],
          }),
        ];
        for (const key of stored) {
          expect(await control.keys.putKey(key)).toBe('stored');
          expect(await control.keys.key(key.keyId)).toEqual(key);
        }
        expect(await control.keys.key(keyId('nosuchkey'))).toBeUndefined();
      });

      test('a key id is stored once', async () => {
        const first = apiKey('takenkey');
        await control.keys.putKey(first);
        expect(await control.keys.putKey(apiKey('takenkey', { scopes: ['admin'] }))).toBe('occupied');
        expect(await control.keys.key(first.keyId)).toEqual(first);
      });

      test('a repeated put of the same key is stored, as after a lost response', async () => {
        const key = apiKey('repeated');
        expect(await control.keys.putKey(key)).toBe('stored');
        expect(await control.keys.putKey(key)).toBe('stored');
        expect(await control.keys.putKey({ ...key, secretHash: 'ab'.repeat(32) })).toBe('occupied');
      });

      test('only the keys of a scope are listed, newest first, page by page', async () => {
        const scope = freshScope();
        const keys = ['listed01', 'listed02', 'listed03', 'listed04', 'listed05'].map((id, index) =>
          // two keys of one moment
          apiKey(id, { ...scope, createdAt: after(noon, minutes(Math.min(index, 3))) }),
        );
        for (const key of keys) await control.keys.putKey(key);
        await control.keys.putKey(apiKey('listed06', { ...scope, environment: environment('staging') }));
        await control.keys.putKey(apiKey('listed07'));
        const found: ApiKey[] = [];
        let next: KeyPosition | undefined;
        do {
          const page = await control.keys.listKeys(scope, { limit: 2, ...(next === undefined ? {} : { after: next }) });
          found.push(...page.keys);
          next = page.next;
        } while (next !== undefined);
        expect(found).toEqual(keys.toReversed());
        expect(await control.keys.listKeys(scope, { limit: 5 })).toEqual({ keys: found });
        expect(await control.keys.listKeys(freshScope(), { limit: 5 })).toEqual({ keys: [] });
      });

      test('a key id of another scope is not listed after a refused put', async () => {
        const theirs = apiKey('contested');
        await control.keys.putKey(theirs);
        const mine = apiKey('contested', { secretHash: 'ab'.repeat(32) });
        expect(await control.keys.putKey(mine)).toBe('occupied');
        expect(await control.keys.listKeys(mine, { limit: 5 })).toEqual({ keys: [] });
        expect(await control.keys.listKeys(theirs, { limit: 5 })).toEqual({ keys: [theirs] });
      });

      test('a repeated revocation keeps the first time', async () => {
        const key = apiKey('revoked01');
        await control.keys.putKey(key);
        expect(await control.keys.revokeKey(key, key.keyId, noon)).toBe(noon);
        expect(await control.keys.revokeKey(key, key.keyId, after(noon, minutes(1)))).toBe(noon);
        expect(await control.keys.key(key.keyId)).toEqual({ ...key, revokedAt: noon });
      });

      test('an update replaces all settings of a key and nothing else', async () => {
        const key = apiKey('amended01', { expiresAt: after(noon, days(9)), rateLimitPerMinute: 60 });
        const { expiresAt: _expiresAt, ...rest } = key;
        await control.keys.putKey(key);
        const terms = { scopes: ['admin', 'deploy:read'] as const, rateLimitPerMinute: null };
        expect(await control.keys.updateKey(key, key.keyId, terms)).toBe(true);
        expect(await control.keys.key(key.keyId)).toEqual({ ...rest, ...terms });
        const bare = { scopes: ['runs:read'] as const, expiresAt: after(noon, days(1)) };
        const { rateLimitPerMinute: _rate, ...others } = rest;
        expect(await control.keys.updateKey(key, key.keyId, bare)).toBe(true);
        expect(await control.keys.key(key.keyId)).toEqual({ ...others, ...bare });
      });

      test('a key that is revoked, replaced, unknown or of another scope is not updated', async () => {
        const revoked = apiKey('amended02', { revokedAt: noon });
        const replaced = apiKey('amended03', { replacedBy: keyId('successor'), expiresAt: after(noon, hours(1)) });
        const foreign = apiKey('amended04');
        const terms = { scopes: ['admin'] as const };
        for (const key of [revoked, replaced, foreign]) {
          await control.keys.putKey(key);
          const asker = key === foreign ? freshScope() : key;
          expect(await control.keys.updateKey(asker, key.keyId, terms)).toBe(false);
          expect(await control.keys.key(key.keyId)).toEqual(key);
        }
        expect(await control.keys.updateKey(freshScope(), keyId('nosuchkey'), terms)).toBe(false);
      });

      test('the latest use of a key is kept, in any order of writes', async () => {
        const key = apiKey('usedkey01');
        await control.keys.putKey(key);
        for (const hour of [3, 1, 5, 2]) await control.keys.recordKeyUse(key.keyId, after(noon, hours(hour)));
        expect(await control.keys.key(key.keyId)).toEqual({ ...key, lastUsedAt: after(noon, hours(5)) });
        await control.keys.recordKeyUse(keyId('nosuchkey'), noon);
        expect(await control.keys.key(keyId('nosuchkey'))).toBeUndefined();
      });

      test('a key that is missing or of another scope is not revoked and not replaced', async () => {
        const key = apiKey('untouched');
        await control.keys.putKey(key);
        const change = { replacedBy: keyId('successor'), expiresAt: after(noon, hours(1)) };
        const otherScopes = [freshScope(), { ...freshScope(), projectId: key.projectId, environment: environment('staging') }];
        for (const otherScope of otherScopes) {
          expect(await control.keys.revokeKey(otherScope, key.keyId, noon)).toBeUndefined();
          expect(await control.keys.replaceKey(otherScope, key.keyId, change)).toBe(false);
        }
        expect(await control.keys.revokeKey(key, keyId('nosuchkey'), noon)).toBeUndefined();
        expect(await control.keys.replaceKey(key, keyId('nosuchkey'), change)).toBe(false);
        expect(await control.keys.key(key.keyId)).toEqual(key);
        expect(await control.keys.key(keyId('nosuchkey'))).toBeUndefined();
      });

      test('one of several concurrent replacements wins, and can be repeated', async () => {
        const key = apiKey('replaced1', { expiresAt: after(noon, days(9)) });
        await control.keys.putKey(key);
        const changes = ['rival001', 'rival002', 'rival003', 'rival004'].map((id, index) => ({
          replacedBy: keyId(id),
          expiresAt: after(noon, hours(index + 1)),
        }));
        const results = await Promise.all(changes.map((change) => control.keys.replaceKey(key, key.keyId, change)));
        expect(results.filter(Boolean)).toHaveLength(1);
        const winner = changes[results.indexOf(true)];
        expect(await control.keys.key(key.keyId)).toEqual({ ...key, ...winner });
        for (const change of changes) {
          expect(await control.keys.replaceKey(key, key.keyId, change)).toBe(change === winner);
        }
      });

      test('a revoked key is not replaced', async () => {
        const key = apiKey('replaced2', { revokedAt: noon });
        await control.keys.putKey(key);
        const change = { replacedBy: keyId('successor'), expiresAt: after(noon, hours(1)) };
        expect(await control.keys.replaceKey(key, key.keyId, change)).toBe(false);
        expect(await control.keys.key(key.keyId)).toEqual(key);
      });
    });

    describe('reservations', () => {
      const endpoint = 'POST /v1/runs';
      const options = { notBefore: noon, expiresAt: after(noon, hours(24)) };
      const reservation = (owner: string, reservedAt: Instant = noon): Reservation => ({
        runId: freshRun().runId,
        bodyHash: 'ef'.repeat(32),
        reservedAt,
        owner,
      });

      test('one of many concurrent requests reserves the key, and the others receive its reservation', async () => {
        const scope = freshScope();
        const rivals = Array.from({ length: 20 }, (_, index) => reservation(`request-${index}`));
        const results = await Promise.all(
          rivals.map((rival) => control.reservations.reserve(scope, endpoint, 'key', rival, options)),
        );
        const winners = rivals.filter((_, index) => results[index]?.kind === 'reserved');
        expect(winners).toHaveLength(1);
        expect(results.flatMap((result) => (result.kind === 'taken' ? [result.by] : []))).toEqual(
          Array.from({ length: 19 }, () => winners[0]),
        );
      });

      test('a repeated request receives its own reservation', async () => {
        const scope = freshScope();
        const mine = reservation('me');
        await control.reservations.reserve(scope, endpoint, 'key', mine, options);
        expect(await control.reservations.reserve(scope, endpoint, 'key', mine, options)).toEqual({ kind: 'taken', by: mine });
      });

      test('an expired reservation is replaced, and one made exactly at the limit is not', async () => {
        const scope = freshScope();
        const old = reservation('old', noon);
        await control.reservations.reserve(scope, endpoint, 'key', old, options);
        const fresh = reservation('new', after(noon, hours(24)));
        const at = (notBefore: Instant) =>
          control.reservations.reserve(scope, endpoint, 'key', fresh, { notBefore, expiresAt: after(noon, hours(48)) });
        expect(await at(noon)).toEqual({ kind: 'taken', by: old });
        expect(await at(instant(noon + 1))).toEqual({ kind: 'reserved' });
        expect(await at(instant(noon + 1))).toEqual({ kind: 'taken', by: fresh });
      });

      test('only its owner releases a reservation', async () => {
        const scope = freshScope();
        const mine = reservation('me');
        await control.reservations.reserve(scope, endpoint, 'key', mine, options);
        await control.reservations.release(scope, endpoint, 'key', 'other');
        expect(await control.reservations.reserve(scope, endpoint, 'key', reservation('other'), options)).toEqual({
          kind: 'taken',
          by: mine,
        });
        await control.reservations.release(scope, endpoint, 'key', 'me');
        await control.reservations.release(scope, endpoint, 'key', 'me');
        expect(await control.reservations.reserve(scope, endpoint, 'key', reservation('other'), options)).toEqual({
          kind: 'reserved',
        });
      });

      test('scopes, endpoints and keys have separate reservations, for any characters in the key', async () => {
        const scope = freshScope();
        const reservationKeys: readonly (readonly [Scope, string, string])[] = [
          [scope, endpoint, 'key'],
          [scope, endpoint, 'Key'],
          [scope, endpoint, ` ${'ключ#/"'.repeat(60)}`],
          [scope, `${endpoint}k`, 'ey'],
          [{ ...scope, environment: environment('staging') }, endpoint, 'key'],
          [freshScope(), endpoint, 'key'],
        ];
        for (const [ofScope, ofEndpoint, key] of reservationKeys) {
          expect(await control.reservations.reserve(ofScope, ofEndpoint, key, reservation('me'), options)).toEqual({
            kind: 'reserved',
          });
        }
      });
    });

    describe('the audit trail', () => {
      const entry = (scope: Scope | null, at: Instant): AuditEntry => ({
        at,
        keyId: scope === null ? null : keyId('operator'),
        scope,
        action: 'run.start',
        resource: 'runs/1',
        result: scope === null ? 'failure' : 'success',
        ip: '2001:db8::1',
        userAgent: 'a browser',
        metadata: { correlationId: 'c-1', changed: ['a'] },
      });

      test('an entry is stored once by its id, in the trail of its scope', async () => {
        const scope = freshScope();
        const expiresAt = after(noon, days(90));
        for (const id of ['one', 'one', 'two']) await control.audit.record(id, entry(scope, noon), expiresAt);
        expect(await control.audited(scope, noon)).toBe(2);
        expect(await control.audited(freshScope(), noon)).toBe(0);
      });

      test('an entry without a scope is stored', async () => {
        await control.audit.record('no-scope', entry(null, noon), after(noon, days(90)));
        expect(await control.audited(null, noon)).toBe(1);
      });

      const listed = async (scope: Scope, limit: number, before: AuditPosition, since: Instant) => {
        const ids: string[] = [];
        let next: AuditPosition | undefined = before;
        while (next !== undefined) {
          const page: AuditPage = await control.audit.listEntries(scope, { limit, before: next, since });
          expect(page.entries.length).toBeLessThanOrEqual(limit);
          ids.push(...page.entries.map(({ id }) => id));
          next = page.next;
        }
        return ids;
      };

      test('an entry is listed as it was recorded', async () => {
        const scope = freshScope();
        const { ip: _ip, userAgent: _userAgent, ...bare } = entry(scope, after(noon, minutes(1)));
        const recorded = [
          { ...bare, id: 'bare', keyId: null, metadata: { long: 'x'.repeat(5_000) } },
          { ...entry(scope, noon), id: 'full' },
        ];
        for (const { id, ...facts } of recorded) await control.audit.record(id, facts, after(noon, days(90)));
        const before = { at: after(noon, hours(1)), id: '' };
        expect(await control.audit.listEntries(scope, { limit: 5, before, since: noon })).toEqual({ entries: recorded });
        expect(await control.audit.listEntries(freshScope(), { limit: 5, before, since: noon })).toEqual({ entries: [] });
      });

      test('entries are listed newest first over several days, without gaps or repetitions, within the requested interval', async () => {
        const scope = freshScope();
        const midnight = instant(Date.UTC(2026, 4, 2));
        const times: readonly (readonly [string, Instant])[] = [
          ['g', after(noon, days(100))],
          ['f', after(midnight, minutes(1))],
          ['e', midnight],
          ['d', instant(midnight - 1)],
          ['c', noon],
          ['b', noon],
          ['a', instant(noon - days(40))],
        ];
        for (const [id, at] of times) await control.audit.record(id, entry(scope, at), after(noon, days(90)));
        const end = { at: after(noon, days(101)), id: '' };
        const long = instant(noon - days(60));
        const all = times.map(([id]) => id);
        for (const limit of [1, 2, 3, 7, 8]) expect(await listed(scope, limit, end, long)).toEqual(all);
        expect(await listed(scope, 2, end, noon)).toEqual(['g', 'f', 'e', 'd', 'c', 'b']);
        expect(await listed(scope, 2, end, instant(noon + 1))).toEqual(['g', 'f', 'e', 'd']);
        expect(await listed(scope, 2, { at: midnight, id: '' }, noon)).toEqual(['d', 'c', 'b']);
        expect(await listed(scope, 2, { at: noon, id: 'c' }, long)).toEqual(['b', 'a']);
      });
    });

    describe('rate windows', () => {
      test('concurrent takes are all counted', async () => {
        const id = keyId('counted1');
        expect(await control.rates.take(id, noon, 1)).toBe(1);
        const totals = await Promise.all(Array.from({ length: 20 }, () => control.rates.take(id, noon, 10)));
        expect(totals.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, index) => 11 + index * 10));
      });

      test('keys and windows have separate counts', async () => {
        expect(await control.rates.take(keyId('counted2'), noon, 5)).toBe(5);
        expect(await control.rates.take(keyId('counted3'), noon, 5)).toBe(5);
        expect(await control.rates.take(keyId('counted2'), after(noon, minutes(1)), 5)).toBe(5);
      });
    });
  });
