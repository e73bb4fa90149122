import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { decided, found, noon, outputOf } from './given.ts';

const day = 86_400_000;

/** How long the node sleeps; 0 where it finishes at once; the code where it fails. */
const waited = (config: JsonObject, context: JsonObject = {}): number | string | undefined => {
  const outcome = decided('delay', config, context);
  if (outcome.kind === 'failed') return outcome.failure.code;
  return outcome.kind === 'sleeping' ? outcome.wakeAt - noon : 0;
};

it('a fixed delay is the sum of its parts, and outputs its length', () => {
  const outcome = decided('delay', { delayMinutes: 2, delaySeconds: 3, delayMs: 4 });
  expect(outcome).toEqual({
    kind: 'sleeping',
    wakeAt: noon + 123_004,
    output: { value: { delayedMs: 123_004, delayType: 'fixed' } },
  });
});

it('a delay of zero does not sleep', () => {
  expect(decided('delay', {})).toEqual({
    kind: 'finished',
    output: { value: { delayedMs: 0, delayType: 'fixed' } },
    handle: 'output',
  });
});

describe('a delay from the context', () => {
  it.each<[JsonValue, number | string]>([
    [1_500, 1_500],
    ['1500', 1_500],
    [' 250.4 ', 250],
    [0, 0],
    [365 * day, 365 * day],
    [365 * day + 1, 'delay_too_long'],
    ['999999999999999', 'delay_too_long'],
    [-1, 'delay_invalid'],
    ['soon', 'delay_invalid'],
    ['', 'delay_invalid'],
    ['1e3', 'delay_invalid'],
    [null, 'delay_invalid'],
    [true, 'delay_invalid'],
    [[5], 'delay_invalid'],
  ])('%j: %s', (wait, answer) => {
    expect(waited({ delayType: 'dynamic', delayVariable: '{{ctx.wait}}' }, { wait })).toBe(answer);
  });
});

describe('a delay until a time', () => {
  it.each<[JsonValue, number | string]>([
    ['2026-11-20T12:00:10Z', 10_000],
    ['2026-11-20T13:00:10.5+01:00', 10_500],
    ['2026-11-20 12:01Z', 60_000],
    ['2026-11-21', day / 2],
    [noon + 5, 5],
    [String(noon + 5), 5],
    ['2026-11-20T11:59:59Z', 0],
    [0, 0],
    ['2028-01-01T00:00:00Z', 'delay_too_long'],
    ['2026-11-20T12:00:10', 'delay_invalid'],
    ['2026-13-40T12:00:00Z', 'delay_invalid'],
    ['20 November 2026', 'delay_invalid'],
    ['tomorrow', 'delay_invalid'],
    [-5, 'delay_invalid'],
    [null, 'delay_invalid'],
    [{ at: 5 }, 'delay_invalid'],
  ])('%j: %s', (at, answer) => {
    expect(waited({ delayType: 'until', untilTime: '{{ctx.at}}' }, { at })).toBe(answer);
  });

  it('may be a constant', () => {
    expect(waited({ delayType: 'until', untilTime: '2026-11-20T12:00:01Z' })).toBe(1_000);
    expect(outputOf(decided('delay', { delayType: 'until', untilTime: noon - 1 }))).toEqual({ delayedMs: 0, delayType: 'until' });
  });
});

it('a delay that fails is not retried', () => {
  expect(decided('delay', { delayType: 'dynamic', delayVariable: '{{ctx.a}}' })).toMatchObject({ failure: { cause: 'invalid' } });
});

describe('an invalid delay', () => {
  it.each<[JsonObject, string]>([
    [{ delayMinutes: 525_601 }, 'delayMinutes'],
    [{ delayMinutes: 0.5 }, 'delayMinutes'],
    [{ delaySeconds: 60 }, 'delaySeconds'],
    [{ delayMs: 1_000 }, 'delayMs'],
    [{ delayMs: -1 }, 'delayMs'],
    [{ delayType: 'someday' }, 'delayType'],
    [{ delayType: 'dynamic' }, 'delayVariable'],
    [{ delayType: 'dynamic', delayVariable: '5000' }, 'delayVariable'],
    [{ delayType: 'until' }, 'untilTime'],
    [{ delayType: 'until', untilTime: 'tomorrow' }, 'untilTime'],
    [{ delayType: 'until', untilTime: '2026-11-20T12:00:00' }, 'untilTime'],
    [{ delayType: 'until', untilTime: true }, 'untilTime'],
  ])('%j', (config, key) => {
    expect(found('delay', config)).toEqual([`config_invalid /nodes/0/config/${key}`]);
  });
});
