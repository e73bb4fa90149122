import fc from 'fast-check';
import { expect, test } from 'vitest';
import { contentKey } from '../../lib/client/idempotency-keys.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import { createTestClient } from './test-client.ts';

test('the digest of a known start matches: name, bar, canonical JSON in UTF-8', () => {
  // printf 'price|{"a":[2,1],"b":"\u20ac"}' | sha256sum, with the euro sign in UTF-8
  expect(contentKey('price', { b: '€', a: [2, 1] })).toBe('8209970f92e5fd225685266b21ce1059b2f2bea31f3d81dfe091f49e77c11727');
  expect(createTestClient([]).client.contentKey('price', { a: [2, 1], b: '€' })).toBe(contentKey('price', { b: '€', a: [2, 1] }));
});

test('the order of keys does not matter; the order of arrays and the workflow do', () => {
  const json = fc.jsonValue({ maxDepth: 3 }).filter((value) => JSON.stringify(value).isWellFormed());
  fc.assert(
    fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,5}$/), json, { maxKeys: 5 }), (given) => {
      const input: JsonValue = JSON.parse(JSON.stringify(given));
      const reordered: JsonValue = JSON.parse(JSON.stringify(Object.fromEntries(Object.entries(given).toReversed())));
      expect(contentKey('flow', reordered)).toBe(contentKey('flow', input));
      expect(contentKey('flow-2', input)).not.toBe(contentKey('flow', input));
      expect(contentKey('flow', [input, 1])).not.toBe(contentKey('flow', [1, input]));
    }),
  );
});

test('it is a valid idempotency key', async () => {
  const { client, sent, runToEnd } = createTestClient([
    () => Response.json({ runId: 'wrun_1', status: 'pending', deploymentId: null }, { status: 202 }),
  ]);
  const idempotencyKey = client.contentKey('flow', { n: 1 });
  await runToEnd(client.trigger({ workflowName: 'flow', input: { n: 1 } }, { idempotencyKey }));
  expect(sent[0]?.headers.get('idempotency-key')).toBe(idempotencyKey);
});
