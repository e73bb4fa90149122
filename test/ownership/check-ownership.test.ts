/** Each response of the service and of the application, and the result of its check. */
import { describe, expect, test } from 'vitest';
import { worstResult } from '../../lib/ownership/check.ts';
import { type Probe, checkActiveDeployment, checkApp, checkHealth } from '../../lib/ownership/check-ownership.ts';

const answered = (status: number, body: unknown): Probe => ({ kind: 'answered', status, body });
const silent: Probe = { kind: 'no_response', reason: 'connect ECONNREFUSED' };
const world = 'workflow-studio/world-remote';
const report = {
  remoteModeEnabled: true,
  strictMode: true,
  targetWorld: world,
  expectedTargetWorld: world,
  status: 'pass',
  lifetimeUnexpectedHits: 0,
  unexpectedHitsLast15m: 0,
  lastUnexpectedHitAt: null,
};

test.each([
  [answered(200, { healthy: true, timestamp: 't' }), 'pass'],
  [answered(200, { healthy: false }), 'fail'],
  [answered(200, '<html>'), 'fail'],
  [answered(302, { healthy: true }), 'fail'],
  [answered(503, { code: 'unavailable' }), 'fail'],
  [silent, 'fail'],
])('health %j: %s', (probe, result) => {
  expect(checkHealth(probe).result).toBe(result);
});

test.each([
  [answered(200, { deploymentId: 'one', more: 1 }), 'pass', 'one is active'],
  [answered(200, { deploymentId: '' }), 'fail', '200'],
  [
    answered(409, { code: 'no_active_deployment', message: 'No active deployment.' }),
    'fail',
    '409 no_active_deployment No active deployment.',
  ],
  [answered(403, { code: 'missing_scope' }), 'fail', '403 missing_scope'],
  [silent, 'fail', 'no response: connect ECONNREFUSED'],
  [undefined, 'fail', 'there is no API key for the request'],
] as const)('the active deployment %j: %s', (probe, result, message) => {
  expect(checkActiveDeployment(probe)).toEqual({ name: 'active_deployment', result, message });
});

describe('the application', () => {
  const verdicts = (probe: Probe, isStrict = true, expected = world) =>
    Object.fromEntries(checkApp(probe, expected, isStrict).map(({ name, result }) => [name, result]));
  const good = { diagnostics: 'pass', remote_mode: 'pass', strict_mode: 'pass', target_world: 'pass', ownership_status: 'pass' };

  test('with a valid report passes, also with unknown fields', () => {
    expect(verdicts(answered(200, { ...report, lastEvent: null, fieldOfTomorrow: 1 }))).toEqual(good);
  });

  test.each([
    [{ remoteModeEnabled: false }, { remote_mode: 'fail' }],
    [{ strictMode: false }, { strict_mode: 'warn' }],
    [{ targetWorld: null }, { target_world: 'fail' }],
    [{ targetWorld: 'local' }, { target_world: 'fail' }],
    [{ expectedTargetWorld: 'local' }, { target_world: 'fail' }],
    [{ status: 'warn', lifetimeUnexpectedHits: 3 }, { ownership_status: 'warn' }],
    [{ status: 'fail', unexpectedHitsLast15m: 1 }, { ownership_status: 'fail' }],
  ])('that reports %o', (change, expected) => {
    const probe = answered(200, { ...report, ...change });
    expect(verdicts(probe)).toEqual({ ...good, ...expected });
    // Without --strict failures are warnings.
    expect(worstResult(checkApp(probe, world, false))).toBe('warn');
  });

  test.each([
    [silent, 'no response: connect ECONNREFUSED'],
    [answered(401, { code: 'unauthorized' }), '401 unauthorized: give --diagnostics-token'],
    [answered(404, 'not found'), '404: is the handler mounted, and its token set?'],
    [answered(500, undefined), '500'],
    [answered(200, { hello: 'world' }), 'the response is not a diagnostics report: check the URL'],
    [answered(200, { ...report, status: 'fine' }), 'the response is not a diagnostics report: check the URL'],
  ])('without a report fails: %j', (probe, message) => {
    expect(checkApp(probe, world, true)).toEqual([{ name: 'diagnostics', result: 'fail', message }]);
    expect(checkApp(probe, world, false)).toEqual([{ name: 'diagnostics', result: 'warn', message }]);
  });

  test('the expected world can be configured', () => {
    expect(verdicts(answered(200, report), true, 'acme/world')).toEqual({ ...good, target_world: 'fail' });
    const theirs = { ...report, targetWorld: 'acme/world', expectedTargetWorld: 'acme/world' };
    expect(verdicts(answered(200, theirs), true, 'acme/world')).toEqual(good);
  });

  test('hits are reported with their number and time', () => {
    const change = {
      status: 'fail',
      unexpectedHitsLast15m: 2,
      lifetimeUnexpectedHits: 5,
      lastUnexpectedHitAt: '2026-01-01T00:00:00.000Z',
    };
    const hits = checkApp(answered(200, { ...report, ...change }), world, true).at(-1);
    expect(hits?.message).toBe('unexpected hits: 2 in 15 minutes, 5 in total, the last at 2026-01-01T00:00:00.000Z');
  });
});
