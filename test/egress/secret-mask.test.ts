import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { SecretMask } from '../../lib/egress/secret-mask.ts';

const secret = 'p@ss "wörd"/+ü?\n';
const mask = new SecretMask([{ name: 'db', text: secret }]);

describe('a secret is masked', () => {
  test.each([
    ['as it is', secret],
    ['without the space at its ends', secret.trim()],
    ['inside JSON text', JSON.stringify({ a: secret })],
    ['in a URL', encodeURIComponent(secret)],
    ['in a form', new URLSearchParams({ a: secret }).toString()],
  ])('%s', (_how, text) => {
    const masked = mask.text(`before ${text} after`);
    expect(masked).toContain('[secret:db]');
    expect(masked).not.toContain('rd');
    expect(masked).toMatch(/^before .* after$/s);
  });

  test('in keys, values and numbers at any depth', () => {
    const number = new SecretMask([{ name: 'pin', text: '1234567890' }]);
    expect(number.value({ a: [{ '1234567890': 1234567890 }, 5, null, true, 'x1234567890x'] })).toEqual({
      a: [{ '[secret:pin]': '[secret:pin]' }, 5, null, true, 'x[secret:pin]x'],
    });
  });

  test('in base64, at any offset', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 9, maxLength: 40 }), fc.string(), fc.string(), (text, before, after) => {
        fc.pre(Buffer.from(text).length >= 12);
        const hides = new SecretMask([{ name: 'x', text }]);
        for (const encoding of ['base64', 'base64url'] as const) {
          expect(hides.text(Buffer.from(before + text + after).toString(encoding))).toContain('[secret:x]');
        }
      }),
    );
  });

  test('in failures and printed lines', () => {
    const failure = { cause: 'error', code: 'x', message: `m ${secret}`, details: { body: secret } } as const;
    expect(JSON.stringify(mask.result({ outcome: { kind: 'failed', failure }, printed: [secret] }))).not.toContain('rd');
  });
});

test('a longer secret is masked before one that it contains', () => {
  const both = new SecretMask([
    { name: 'part', text: '12345678' },
    { name: 'whole', text: '1234567890' },
  ]);
  expect(both.text('1234567890 12345678')).toBe('[secret:whole] [secret:part]');
});

test('a secret of fewer than eight characters is not masked', () => {
  expect(new SecretMask([{ name: 'pin', text: '1234567' }]).value({ n: '1234567' })).toEqual({ n: '1234567' });
});
