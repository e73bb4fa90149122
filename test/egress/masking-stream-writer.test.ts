/** Streamed text contains no secret for any split, and is otherwise unchanged. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MaskingStreamWriter, SecretMask } from '../../lib/egress/secret-mask.ts';

const told = (secrets: readonly string[], parts: readonly string[]) => {
  const mask = new SecretMask(secrets.map((text, index) => ({ name: `s${index}`, text })));
  const heard: string[] = [];
  const masked = new MaskingStreamWriter(
    () => mask,
    (text) => void heard.push(text),
  );
  for (const part of parts) masked.append(part);
  const before = heard.length;
  masked.end();
  return { heard, text: heard.join(''), atTheEnd: heard.slice(before).join('') };
};

/** Each letter a part of its own. */
const letters = (text: string): readonly string[] => text.split('');

test('a secret is masked when each character arrives separately', () => {
  expect(told(['sk-secret-1'], letters('the key is sk-secret-1, is it?')).text).toBe('the key is [secret:s0], is it?');
});

test('text that starts no secret is sent immediately, and a false start when it is known', () => {
  expect(told(['sk-secret-1'], ['hello ', 'world']).heard).toEqual(['hello ', 'world']);
  expect(told(['sk-secret-1'], ['hello sk-', 'world']).heard).toEqual(['hello ', 'sk-world']);
  expect(told(['sk-secret-1'], ['hello sk-sec'])).toMatchObject({ text: 'hello sk-sec', atTheEnd: 'sk-sec' });
});

test('overlapping secrets and prefixes of longer secrets are masked completely', () => {
  expect(told(['abcdefgh', 'abcdefghijkl'], letters('x abcdefghijkl abcdefgh y')).text).toBe('x [secret:s1] [secret:s0] y');
  expect(told(['abcdefga'], letters('abcdefga')).text).toBe('[secret:s0]');
});

test('the pending text is bounded when it repeats the start of a secret', () => {
  expect(
    told(
      ['aaaaaaaab'],
      Array.from({ length: 200_000 }, () => 'a'),
    ).text,
  ).toHaveLength(200_000);
});

test('every encoding is masked for every split', () => {
  const secret = 'p@ss "wörd"/+ü?';
  const piece = fc.constantFrom(
    secret,
    encodeURIComponent(secret),
    JSON.stringify(secret),
    secret.slice(0, 9),
    'p@',
    ' ',
    'text',
  );
  fc.assert(
    fc.property(
      fc.array(piece, { maxLength: 8 }),
      fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 1 }),
      (pieces, cuts) => {
        const whole = pieces.join('');
        const parts: string[] = [];
        for (let at = 0, turn = 0; at < whole.length; turn += 1) {
          const length = cuts[turn % cuts.length] ?? 1;
          parts.push(whole.slice(at, at + length));
          at += length;
        }
        const { text } = told([secret], parts);
        expect(text).toBe(new SecretMask([{ name: 's0', text: secret }]).text(whole));
      },
    ),
  );
});
