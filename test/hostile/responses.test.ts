/** Responses of a hostile server: the node always ends, and stores a bounded part. */
import type { ServerResponse } from 'node:http';
import { deflateSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll } from 'vitest';
import type { JsonObject } from '../../lib/engine/json.ts';
import { OtherSide } from '../nodes/other-side.ts';
import {
  type Scenario,
  type Expected,
  chain,
  completes,
  definition,
  failedBy,
  checkScenarios,
  longTimeout,
} from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const server = new OtherSide();
/** A hundred megabytes of space. */
const zipBomb = gzipSync(Buffer.alloc(100_000_000, 0x20));
const replies: Readonly<Record<string, (response: ServerResponse) => void>> = {
  deep: json(`${'['.repeat(20_000)}${']'.repeat(20_000)}`),
  deepObjects: json(`${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`),
  smallStack: json(`${'['.repeat(4_400)}${']'.repeat(4_400)}`),
  unclosed: json('['.repeat(500_000)),
  atTheLimit: json(`${'['.repeat(99)}${']'.repeat(99)}`),
  overTheLimit: json(`${'['.repeat(101)}${']'.repeat(101)}`),
  infinity: json('{"list":[1,1e999]}'),
  proto: json('{"__proto__":{"isAdmin":true},"constructor":{"prototype":1}}'),
  duplicates: json(`{${Array.from({ length: 20_000 }, () => '"a":1').join(',')}}`),
  wide: json(JSON.stringify(Array.from({ length: 200_000 }, () => 1))),
  surrogate: json(String.raw`{"text":"\ud800"}`),
  large: json(JSON.stringify('x'.repeat(2_000_000))),
  zipBomb: (response) => {
    response.setHeader('content-type', 'application/json');
    response.setHeader('content-encoding', 'gzip');
    response.end(zipBomb);
  },
  deflateBomb: (response) => {
    response.setHeader('content-encoding', 'deflate');
    response.end(deflateSync(Buffer.alloc(50_000_000, 0x61)));
  },
  wrongEncoding: (response) => {
    response.setHeader('content-encoding', 'gzip');
    response.end('this is no gzip');
  },
  manyHeaders: (response) => {
    for (let n = 0; n < 100; n += 1) response.setHeader(`x-h${n}`, 'v'.repeat(100));
    response.end('ok');
  },
  headersTooLarge: (response) => {
    response.setHeader('x-large', 'v'.repeat(100_000));
    response.end('ok');
  },
  manyCookies: (response) => {
    response.setHeader(
      'set-cookie',
      Array.from({ length: 100 }, (_, n) => `c${n}=${'v'.repeat(50)}`),
    );
    response.end('ok');
  },
  loopOfRedirects: (response) => response.writeHead(302, { location: '/loopOfRedirects' }).end(),
  redirectInside: (response) => response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data' }).end(),
  redirectToFile: (response) => response.writeHead(302, { location: 'file:///etc/passwd' }).end(),
  redirectNowhere: (response) => response.writeHead(302, { location: 'http://[' }).end(),
  hangs: () => undefined,
  dripping: (response) => {
    const timer = setInterval(() => response.write(' '), 50);
    response.on('close', () => clearInterval(timer));
  },
  cutOff: (response) => {
    response.writeHead(200, { 'content-length': '1000', 'content-type': 'application/json' });
    response.write('{"a":');
    response.destroy();
  },
  lengthOfALie: (response) => {
    response.socket?.end('HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\nx');
  },
  noHttp: (response) => {
    response.socket?.end('220 mail.example ESMTP\r\n');
  },
  errorOfMegabytes: (response) =>
    response.writeHead(500, { 'content-type': 'application/json' }).end(JSON.stringify({ error: 'x'.repeat(900_000) })),
  deepError: (response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end(`${'['.repeat(20_000)}${']'.repeat(20_000)}`),
  retryNever: (response) => response.writeHead(429, { 'retry-after': '99999999999999999999' }).end(),
  retryInWords: (response) => response.writeHead(503, { 'retry-after': 'defaultWithinMs' }).end(),
  noContentType: (response) => response.end('{"a":1}'),
  jsonThatIsNone: json('{"a":'),
  halfUtf8: (response) => {
    response.setHeader('content-type', 'text/plain;charset=utf-8');
    response.end(Buffer.from([0xc3, 0x28, 0xf0, 0x9f]));
  },
  oddCharset: (response) => {
    response.setHeader('content-type', 'text/plain;charset=x-unknown');
    response.end('ok');
  },
  status999: (response) => {
    response.socket?.end('HTTP/1.1 999 Odd\r\ncontent-length: 0\r\n\r\n');
  },
};

function json(text: string) {
  return (response: ServerResponse): void => {
    response.setHeader('content-type', 'application/json');
    response.end(text);
  };
}

beforeAll(async () => {
  await server.start();
  server.answers(({ url = '' }, response) => replies[url.slice(1)]?.(response));
});
afterAll(() => server.stop());

/** The port is known after the server has started, so it is part of the input. */
const answer = (
  name: string,
  path: keyof typeof replies,
  expected: Expected,
  config: JsonObject = {},
  withinMs = 8_000,
): Scenario => {
  const node = {
    id: 'h',
    type: 'http',
    config: { url: `http://api.test:{{ctx.input.port}}/${path}`, retry: { attempts: 1 }, timeoutMs: 2_000, ...config },
  };
  return {
    ...definition(
      name,
      chain(node, {
        id: 'end',
        type: 'end',
        config: { outputParameters: [{ name: 'got', sourceVariable: '{{ctx.httpResponse.body}}' }] },
      }),
      expected,
      { withinMs },
    ),
    get input() {
      return { port: server.port };
    },
  };
};
const deep = failedBy('output_too_deep', 'invalid', 'nested more than 100 levels');

checkScenarios('responses', createRunner(), [
  answer('20,000 nested arrays', 'deep', deep),
  answer('20,000 nested objects', 'deepObjects', deep),
  answer('4,400 levels, enough for a small stack', 'smallStack', deep),
  answer('half a million brackets that never close', 'unclosed', completes),
  answer('a body of 99 levels', 'atTheLimit', completes),
  answer('a body of 101 levels', 'overTheLimit', deep),
  answer('a number that is infinite', 'infinity', failedBy('output_invalid', 'invalid', '/body/list/1')),
  answer('keys that name prototypes', 'proto', completes),
  answer('the same key twenty thousand times', 'duplicates', completes),
  answer('a list of 200,000 numbers', 'wide', completes),
  answer('half a character', 'surrogate', completes),
  answer('two megabytes', 'large', failedBy('response_too_large', 'invalid')),
  answer(
    'a hundred megabytes in a hundred kilobytes',
    'zipBomb',
    failedBy('response_too_large', 'invalid'),
    longTimeout.config,
    longTimeout.withinMs,
  ),
  answer(
    'fifty megabytes, deflated',
    'deflateBomb',
    failedBy('response_too_large', 'invalid'),
    longTimeout.config,
    longTimeout.withinMs,
  ),
  answer('a false content encoding', 'wrongEncoding', { ends: 'failed' }),
  answer('a hundred headers', 'manyHeaders', completes),
  answer('a header of 100,000 characters', 'headersTooLarge', { ends: 'failed' }),
  answer('a hundred cookies', 'manyCookies', completes),
  answer('a loop of redirects', 'loopOfRedirects', failedBy('too_many_redirects', 'invalid')),
  answer('a redirect to the metadata service', 'redirectInside', failedBy('address_forbidden', 'forbidden')),
  answer('a redirect to a file', 'redirectToFile', failedBy('protocol_forbidden', 'forbidden')),
  answer('a redirect to an invalid address', 'redirectNowhere', completes),
  answer('no response', 'hangs', { ends: 'failed', cause: 'timeout' }),
  answer('a slow response that never ends', 'dripping', { ends: 'failed', cause: 'timeout' }),
  answer('a truncated response', 'cutOff', { ends: 'failed' }),
  answer('a false content length', 'lengthOfALie', { ends: 'failed' }),
  answer('another protocol', 'noHttp', { ends: 'failed' }),
  answer('an error of almost a megabyte', 'errorOfMegabytes', { ends: 'failed' }),
  answer('an error of 20,000 levels', 'deepError', { ends: 'failed', code: 'http_status' }),
  answer('a Retry-After of three billion years', 'retryNever', { ends: 'failed' }, { retry: { attempts: 2, backoffMs: 0 } }),
  answer('a Retry-After that is not a number', 'retryInWords', { ends: 'failed' }),
  answer('JSON without a content type', 'noContentType', { ends: 'completed', output: { got: '{"a":1}' } }),
  answer('invalid JSON', 'jsonThatIsNone', { ends: 'completed', output: { got: '{"a":' } }),
  answer('half a character in UTF-8', 'halfUtf8', completes),
  answer('an unknown charset', 'oddCharset', completes),
  answer('a status of 999', 'status999', { ends: 'failed' }),
  answer('a deep response that is searched for a secret', 'deep', deep, { headers: { authorization: '{{secret:token}}' } }),
]);
