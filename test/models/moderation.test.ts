import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { HttpModeration, WordModeration, noModeration } from '../../lib/models/moderation.ts';
import { OtherSide, reachOf } from '../nodes/other-side.ts';
import { apiKey, arn, keysGiven } from './given.ts';

const server = new OtherSide();
beforeAll(() => server.start());
afterAll(() => server.stop());

const { signal } = new AbortController();
const gateway = (url = server.url('/check')) =>
  new HttpModeration({ url, secretArn: arn, keys: keysGiven().keys, networkAccess: reachOf() });
const ask = (status: number, body: string, text = 'hello') => {
  server.answers((_request, response) => response.writeHead(status).end(body));
  return gateway().check('input', text, signal);
};

describe('over HTTP', () => {
  test('a text is sent with its phase, and the decision applies', async () => {
    expect(await ask(200, '{"allowed":true}')).toEqual({ kind: 'allowed' });
    expect(server.seen[0]?.headers.authorization).toBe(`Bearer ${apiKey}`);
    expect(JSON.parse(server.seen[0]?.body ?? '')).toEqual({ phase: 'input', text: 'hello' });
    const no = { allowed: false, policy: 'hate', reason: 'it is rude', metadata: { score: 1 } };
    expect(await ask(200, JSON.stringify(no))).toEqual({
      kind: 'blocked',
      policy: 'hate',
      reason: 'it is rude',
      metadata: { score: 1 },
    });
  });

  test('a repeated key is masked', async () => {
    const no = { allowed: false, reason: `sent with ${apiKey}`, metadata: { echo: [`Bearer ${apiKey}`] } };
    const decision = await ask(200, JSON.stringify(no));
    expect(decision).toMatchObject({ kind: 'blocked', reason: expect.stringContaining('sent with [secret:') });
    expect(JSON.stringify(decision)).not.toContain(apiKey);
  });

  test('an empty text is allowed without a request', async () => {
    expect(await ask(500, '', '')).toEqual({ kind: 'allowed' });
    expect(server.seen).toEqual([]);
  });

  test.each([
    ['trouble', 500, ''],
    ['a refusal', 400, '{"allowed":true}'],
    ['no decision', 200, '{"ok":true}'],
    ['a decision that is none', 200, '{"allowed":"yes"}'],
    ['nothing', 200, ''],
    ['a page', 200, '<html>'],
    ['more than a decision has', 200, `{"allowed":true,"pad":"${'x'.repeat(70_000)}"}`],
  ])('%s blocks the text', async (_what, status, body) => {
    expect(await ask(status, body)).toMatchObject({ kind: 'unavailable' });
  });

  test('an unreachable server blocks the text', async () => {
    expect(await gateway('http://nobody.test/').check('output', 'x', signal)).toMatchObject({ kind: 'unavailable' });
    expect(await gateway('http://api.test:1/').check('output', 'x', signal)).toMatchObject({ kind: 'unavailable' });
  });

  test('is aborted by the signal', async () => {
    const stop = new AbortController();
    server.answers(() => stop.abort(new Error('enough')));
    await expect(gateway().check('input', 'x', stop.signal)).rejects.toThrow('enough');
  });
});

test('the word list ignores case', async () => {
  const words = new WordModeration(['Forbidden']);
  expect(await words.check('input', 'all is well')).toEqual({ kind: 'allowed' });
  expect(await words.check('output', 'this is FORBIDDEN')).toMatchObject({ kind: 'blocked', policy: 'words' });
});

test('without a provider, only an empty text passes', async () => {
  expect(await noModeration.check('input', 'x', signal)).toMatchObject({ kind: 'unavailable' });
  expect(await noModeration.check('input', '', signal)).toEqual({ kind: 'allowed' });
});
