/** What the rest of the control plane's stores must keep. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type DeploymentId, type Scope, deploymentId, environment, keyId } from '../../lib/engine/ids.ts';
import { type Instant, after, days, hours, instant, minutes } from '../../lib/engine/time.ts';
import {
  type ActiveDeployments,
  type ApiKey,
  type Audit,
  type AuditEntry,
  type Keys,
  type RateWindows,
  type Reservation,
  type Reservations,
  keyScopes,
} from '../../lib/ports/control.ts';
import { freshRun, freshScope, noon } from './samples.ts';
import type { Opened, Subject } from './subject.ts';

export interface Control {
  readonly keys: Keys;
  readonly reservations: Reservations;
  readonly audit: Audit;
  readonly rates: RateWindows;
  readonly deployments: ActiveDeployments;
  /** How many entries lie in the trail of that scope and day. */
  audited(scope: Scope | null, at: Instant): Promise<number>;
  activate(scope: Scope, id: DeploymentId): Promise<void>;
}

export const controlSuite = ({ name, open }: Subject<Control>) =>
  describe(`control: ${name}`, () => {
    let opened: Opened<Control>;
    let control: Control;
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
      test('a key comes back as it was stored', async () => {
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

      test('a key id is given once', async () => {
        const first = apiKey('takenkey');
        await control.keys.putKey(first);
        expect(await control.keys.putKey(apiKey('takenkey', { scopes: ['admin'] }))).toBe('occupied');
        expect(await control.keys.key(first.keyId)).toEqual(first);
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

      test('one of many concurrent requests reserves, and the others are given its reservation', async () => {
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

      test('one who asks again is given its own', async () => {
        const scope = freshScope();
        const mine = reservation('me');
        await control.reservations.reserve(scope, endpoint, 'key', mine, options);
        expect(await control.reservations.reserve(scope, endpoint, 'key', mine, options)).toEqual({ kind: 'taken', by: mine });
      });

      test('an expired reservation gives way, one made just then does not', async () => {
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

      test('only its owner gives a reservation back', async () => {
        const scope = freshScope();
        const mine = reservation('me');
        await control.reservations.reserve(scope, endpoint, 'key', mine, options);
        await control.reservations.release(scope, endpoint, 'key', 'somebody');
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

      test('scopes, endpoints and keys are told apart, whatever the key holds', async () => {
        const scope = freshScope();
        const places: readonly (readonly [Scope, string, string])[] = [
          [scope, endpoint, 'key'],
          [scope, endpoint, 'Key'],
          [scope, endpoint, ` ${'ключ#/"'.repeat(60)}`],
          [scope, `${endpoint}k`, 'ey'],
          [{ ...scope, environment: environment('staging') }, endpoint, 'key'],
          [freshScope(), endpoint, 'key'],
        ];
        for (const [where, at, key] of places) {
          expect(await control.reservations.reserve(where, at, key, reservation('me'), options)).toEqual({ kind: 'reserved' });
        }
      });
    });

    describe('the audit trail', () => {
      const entry = (scope: Scope | null, at: Instant): AuditEntry => ({
        at,
        keyId: scope === null ? null : keyId('somebody'),
        scope,
        action: 'run.start',
        resource: 'runs/1',
        result: scope === null ? 'failure' : 'success',
        ip: '2001:db8::1',
        userAgent: 'a browser',
        metadata: { correlationId: 'c-1', changed: ['a'] },
      });

      test('an entry is kept once by its id, in the trail of its scope', async () => {
        const scope = freshScope();
        const expiresAt = after(noon, days(90));
        for (const id of ['one', 'one', 'two']) await control.audit.record(id, entry(scope, noon), expiresAt);
        expect(await control.audited(scope, noon)).toBe(2);
        expect(await control.audited(freshScope(), noon)).toBe(0);
      });

      test('what nobody could be told for is kept as well', async () => {
        await control.audit.record('nobody', entry(null, noon), after(noon, days(90)));
        expect(await control.audited(null, noon)).toBe(1);
      });
    });

    describe('rate windows', () => {
      test('every take is counted, also those at once', async () => {
        const id = keyId('counted1');
        expect(await control.rates.take(id, noon, 1)).toBe(1);
        const totals = await Promise.all(Array.from({ length: 20 }, () => control.rates.take(id, noon, 10)));
        expect(totals.toSorted((one, other) => one - other)).toEqual(Array.from({ length: 20 }, (_, index) => 11 + index * 10));
      });

      test('keys and windows are counted apart', async () => {
        expect(await control.rates.take(keyId('counted2'), noon, 5)).toBe(5);
        expect(await control.rates.take(keyId('counted3'), noon, 5)).toBe(5);
        expect(await control.rates.take(keyId('counted2'), after(noon, minutes(1)), 5)).toBe(5);
      });
    });

    test('the active deployment is that of the scope', async () => {
      const scope = freshScope();
      expect(await control.deployments.active(scope)).toBeUndefined();
      await control.activate(scope, deploymentId('dep_1'));
      expect(await control.deployments.active(scope)).toBe('dep_1');
      expect(await control.deployments.active({ ...scope, environment: environment('staging') })).toBeUndefined();
    });
  });
