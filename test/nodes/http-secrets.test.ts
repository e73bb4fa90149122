/** Secrets in requests: allowed settings, destinations, and masking in results. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import type { SecretLookup } from '../../lib/nodes/secret-use.ts';
import { found, inputOf, planNode, toolsOf } from './given.ts';
import { OtherSide, reachOf } from './other-side.ts';

const server = new OtherSide();
beforeAll(() => server.start());
afterAll(() => server.stop());
beforeEach(() => server.answers((_request, response) => response.end('ok')));

const planted = 'planted-{{ctx.other}}-secret';
const list: Readonly<Record<string, SecretLookup>> = {
  key: { kind: 'secret', text: planted },
  line: { kind: 'secret', text: 'two\nlines-of-text' },
  gone: { kind: 'missing' },
};
const attempt = createAttemptRunner(createRunners({ networkAccess: reachOf() }), {
  secret: async (_scope, name) => {
    if (name === 'down') throw new Error(`no answer about ${planted}`);
    return list[name] ?? { kind: 'not_allowed' };
  },
});
const send = (config: JsonObject, context: JsonObject = {}) =>
  attempt(planNode('http', { url: server.url('/'), method: 'POST', ...config }), inputOf(context), toolsOf());

describe('a secret', () => {
  test('is inserted in headers, query and body, and is not resolved as a template', async () => {
    await send(
      { headers: { 'x-key': 'k {{secret:key}}' }, query: { q: '{{ secret:key }}' }, body: { a: ['{{secret:key}}'] } },
      { other: 'x' },
    );
    const [seen] = server.seen;
    expect(seen?.headers['x-key']).toBe(`k ${planted}`);
    expect(new URL(seen?.url ?? '', 'http://x').searchParams.get('q')).toBe(planted);
    expect(JSON.parse(seen?.body ?? '')).toEqual({ a: [planted] });
  });

  test('is not resolved when a value of the run names it', async () => {
    await send({ body: '{{ctx.given}}', headers: { a: '{{ctx.given}}' } }, { given: '{{secret:key}}' });
    expect([server.seen[0]?.body, server.seen[0]?.headers['a']]).toEqual(['{{secret:key}}', '{{secret:key}}']);
  });

  test('is masked in a body, a header and an error, in each encoding', async () => {
    server.answers((request, response) => {
      response.statusCode = request.url === '/fails' ? 500 : 200;
      response.setHeader('x-echo', encodeURIComponent(planted));
      response.setHeader('content-type', 'application/json');
      // The secret lies across the place where a failure cuts what it quotes.
      response.end(JSON.stringify({ pad: 'x'.repeat(1_980), a: planted, b: [Buffer.from(`u:${planted}`).toString('base64')] }));
    });
    for (const path of ['/', '/fails']) {
      const result = JSON.stringify(await send({ url: server.url(path), headers: { a: '{{secret:key}}' } }));
      expect(result).toContain(path === '/' ? '"a":"[secret:key]","b":["' : '[sec');
      expect(result).not.toMatch(/planted|plant/);
      expect(result).not.toContain(Buffer.from('planted-').toString('base64').slice(0, 8));
    }
  });

  test('that is not a valid header is not quoted', async () => {
    const { outcome } = await send({ headers: { a: '{{secret:line}}' } });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { cause: 'invalid', code: 'request_invalid' } });
    expect(JSON.stringify(outcome)).not.toContain('lines');
  });

  test.each([
    ['other', 'forbidden', 'secret_not_allowed'],
    ['gone', 'invalid', 'secret_missing'],
    ['down', 'provider_error', 'secret_unavailable'],
  ])('%s: the node fails with %s, %s, and sends no request', async (name, cause, code) => {
    const { outcome } = await send({ headers: { a: `{{secret:${name}}}` } });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { cause, code } });
    expect([server.seen, JSON.stringify(outcome).includes('planted')]).toEqual([[], false]);
  });

  test('is not sent to another origin: a redirect drops its header, and does not send its body', async () => {
    server.answers((request, response) => {
      const isFirst = request.headers.host?.startsWith('api.test') === true;
      response.statusCode = isFirst ? 307 : 200;
      if (isFirst) response.setHeader('location', server.url('/next', 'other.test'));
      response.end('ok');
    });
    const headers = { 'x-key': '{{secret:key}}', 'x-plain': 'p' };
    await send({ headers, body: 'plain' });
    expect(server.seen.map((seen) => [seen.headers['x-key'], seen.headers['x-plain']])).toEqual([
      [planted, 'p'],
      [undefined, 'p'],
    ]);
    const { outcome } = await send({ body: { key: '{{secret:key}}' } });
    expect(outcome).toMatchObject({ kind: 'failed', failure: { cause: 'forbidden', code: 'redirect_forbidden' } });
    expect(server.seen.filter(({ body }) => body.includes(planted))).toHaveLength(1);
  });
});

describe('a misplaced secret is rejected with its path', () => {
  test.each([
    ['http', { url: 'https://a.test/{{secret:key}}' }, '/url'],
    ['delay', { delayType: 'dynamic', delayVariable: '{{secret:key}}' }, '/delayVariable'],
    ['end', { outputParameters: [{ name: 'a', sourceVariable: 'x {{secret:key}}' }] }, '/outputParameters/0/sourceVariable'],
    ['signal', { name: '{{secret:key}}' }, '/name'],
  ])('%s %j', (type, config, place) => {
    expect(found(type, config)).toContain(`secret_misplaced /nodes/0/config${place}`);
  });

  test('in the code of a script it is plain text, which is a warning', () => {
    const code = (text: string) => found('javascript', { code: `return fetchIt("${text}");` });
    expect(code('Bearer {{secret:key}}')).toEqual(['secret_in_code /nodes/0/config/code']);
    expect(code('{{ secret:key }}')).toEqual(['secret_in_code /nodes/0/config/code']);
    expect(code('{{name}} is a secret: {{x')).toEqual([]);
  });

  test('a secret in an allowed setting is accepted, unless its name is empty', () => {
    const config = { url: 'https://a.test', method: 'POST', headers: { a: '{{secret:a.b-c_9}}' }, body: ['{{secret:k}}'] };
    expect(found('http', config)).toEqual([]);
    expect(found('http', { ...config, headers: { a: '{{secret:}}' } })).toEqual(['template_invalid /nodes/0/config/headers/a']);
    expect(found('http', { ...config, headers: { a: '{{secret.key}}' } })).toEqual([
      'template_invalid /nodes/0/config/headers/a',
    ]);
  });
});
