import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import { after, seconds } from '../../lib/engine/time.ts';
import { decided, found, noon } from './given.ts';

const codeOf = (config: JsonObject, context: JsonObject = {}): string | undefined => {
  const outcome = decided('signal', config, context);
  return outcome.kind === 'failed' ? outcome.failure.code : outcome.kind;
};

it('by default a wait has the run id as correlation and no expiry', () => {
  expect(decided('signal', { name: 'paid' })).toEqual({ kind: 'awaiting', name: 'paid' });
});

it('templates in name and correlation are resolved, and numbers become strings', () => {
  const config = { name: '{{ctx.kind}}-paid', correlation: '{{ctx.input.order}}' };
  expect(decided('signal', config, { kind: 'bill', input: { order: 7 } })).toEqual({
    kind: 'awaiting',
    name: 'bill-paid',
    correlation: '7',
  });
});

it('an expired wait fails, or continues at its own handle', () => {
  const config = { name: 'paid', expiresInSeconds: 90 };
  const expiresAt = after(noon, seconds(90));
  expect(decided('signal', config)).toEqual({ kind: 'awaiting', name: 'paid', expiresAt });
  expect(decided('signal', { ...config, onExpiry: 'continue' })).toEqual({
    kind: 'awaiting',
    name: 'paid',
    expiresAt,
    expiryHandle: 'expired',
  });
});

describe('an invalid correlation fails the node', () => {
  it.each<[JsonValue, string]>([
    ['x'.repeat(256), 'awaiting'],
    ['x'.repeat(257), 'signal_invalid'],
    ['', 'signal_invalid'],
    [null, 'signal_invalid'],
    [{ order: 7 }, 'signal_invalid'],
    [[7], 'signal_invalid'],
    [false, 'awaiting'],
  ])('%j: %s', (order, answer) => {
    expect(codeOf({ name: 'paid', correlation: '{{ctx.order}}' }, { order })).toBe(answer);
    expect(codeOf({ name: '{{ctx.order}}' }, { order })).toBe(answer);
  });
});

it.each<[JsonObject, readonly string[]]>([
  [{ name: 'paid' }, []],
  [{ name: 'paid', expiresInSeconds: 1, onExpiry: 'continue' }, []],
  [{ name: 'paid', onExpiry: 'continue' }, ['/config/expiresInSeconds']],
  [{ name: 'paid', expiresInSeconds: 0 }, ['/config/expiresInSeconds']],
  [{ name: 'paid', expiresInSeconds: 31_536_001 }, ['/config/expiresInSeconds']],
  [{ name: 'paid', onExpiry: 'wait' }, ['/config/onExpiry']],
  [{ name: '' }, ['/config/name']],
  [{}, ['/config/name']],
  [{ name: '{{paid}}' }, ['/config/name']],
])('%j is rejected at %j', (config, places) => {
  expect(found('signal', config).map((finding) => finding.split(' ')[1])).toEqual(places.map((place) => `/nodes/0${place}`));
});
