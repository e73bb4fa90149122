/** Values that are too deep, too large or not JSON are refused where they enter, with their JSON pointer. */
import type { JsonObject, JsonValue } from '../../lib/engine/json.ts';
import {
  completes,
  definition,
  type Expected,
  failedBy,
  returns,
  checkScenarios,
  chain,
  longTimeout,
  script,
} from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const deep: Expected = failedBy('output_too_deep', 'invalid', 'nested more than 100 levels');
const large: Expected = failedBy('output_too_large', 'invalid');
const invalidAt = (messagePart: string): Expected => failedBy('output_invalid', 'invalid', messagePart);
const nested = (levels: number, inner: JsonValue = 1): JsonValue => {
  let value = inner;
  for (let level = 0; level < levels; level += 1) value = [value];
  return value;
};
const end = (sourceVariable: string): JsonObject => ({
  id: 'end',
  type: 'end',
  config: { outputParameters: [{ name: 'got', sourceVariable }] },
});
const js = (id: string, code: string): JsonObject => ({
  id,
  type: 'javascript',
  config: { code, retry: { attempts: 1 }, outputVariable: id },
});

checkScenarios('depth', createRunner(), [
  script('arrays, 101 levels', 'let a = 1; for (let i = 0; i < 101; i += 1) a = [a]; return a', deep),
  script(
    'arrays, 100 levels, which are too many only for the output of the run',
    'let a = 1; for (let i = 0; i < 100; i += 1) a = [a]; return a',
    failedBy('output_too_deep', 'invalid'),
  ),
  script('arrays, 99 levels', 'let a = 1; for (let i = 0; i < 99; i += 1) a = [a]; return a', returns(nested(99))),
  script(
    'arrays, 4,400 levels, enough for a small stack',
    'let a = 1; for (let i = 0; i < 4400; i += 1) a = [a]; return a',
    deep,
  ),
  script('objects, 20,000 levels', 'let a = {}; for (let i = 0; i < 2e4; i += 1) a = { a }; return a', deep),
  script('a million levels', 'let a = []; for (let i = 0; i < 1e6; i += 1) a = [a]; return a', { ends: 'failed' }),
  script('endless levels made by toJSON', 'const more = () => ({ toJSON: () => [more()] }); return more()', deep),
  script(
    'endless levels made by a proxy',
    'const more = () => new Proxy({}, { ownKeys: () => ["a"], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }), get: (t, key) => key === "a" ? more() : undefined }); return more()',
    deep,
  ),
  script('levels of wide arrays', 'let a = 1; for (let i = 0; i < 200; i += 1) a = [0, 0, 0, a]; return a', deep),
  script('a deep text that the script parses', 'return JSON.parse("[".repeat(150) + "]".repeat(150))', deep),
  script('a deep text that stays a text', 'return "[".repeat(20000) + "]".repeat(20000)', completes),
  script(
    'printed values of any depth',
    'let a = 1; for (let i = 0; i < 3000; i += 1) a = [a]; console.log(a); return 1',
    returns(1),
  ),
  script(
    'a value with a shared part, without a cycle',
    'const part = [1]; return [part, part, { part }]',
    returns([[1], [1], { part: [1] }]),
  ),
  definition(
    'depths that add up over nodes',
    chain(
      js('a', `let v = 1; for (let i = 0; i < 60; i += 1) v = [v]; return v`),
      js('b', `let v = ctx.a; for (let i = 0; i < 60; i += 1) v = [v]; return v`),
    ),
    deep,
  ),
  definition(
    'depths that add up in an end node',
    chain(js('a', `let v = 1; for (let i = 0; i < 100; i += 1) v = [v]; return v`), end('{{ctx.a}}')),
    failedBy('output_too_deep', 'invalid'),
  ),
  definition(
    'an input of 101 levels',
    chain(end('{{ctx.input.a}}')),
    { ends: 'start', code: 'invalid_request', findings: ['too_deep'] },
    { input: { a: nested(101) } },
  ),
  definition(
    'a definition of 101 levels',
    chain({ id: 'h', type: 'http', config: { url: 'http://api.test/', method: 'POST', body: nested(101) } }),
    { ends: 'publish', code: 'invalid_request', findings: ['too_deep'] },
  ),
]);

checkScenarios('size', createRunner(), [
  script('a text of 1 MiB and a byte', 'return "x".repeat(1048575)', large),
  script('a text of 1 MiB in bytes, not in characters', 'return "é".repeat(524288)', large),
  script('a text of control characters, which JSON escapes with six characters', 'return "\\u0001".repeat(2e5)', large),
  script('many small values', 'return Array.from({ length: 4e5 }, (_, i) => i)', large, longTimeout),
  script('long keys', 'return Object.fromEntries(Array.from({ length: 40 }, (_, i) => ["k".repeat(3e4) + i, 1]))', large),
  script(
    'a shared part a thousand times',
    'const part = "x".repeat(1e5); return Array.from({ length: 1000 }, () => part)',
    large,
  ),
  script('a sparse array of four billion elements', 'const a = []; a.length = 2 ** 32 - 1; return a', { ends: 'failed' }),
  script('a typed array of a million bytes', 'return new Uint8Array(1e6)', large, longTimeout),
  script(
    'an array with a false length',
    'return new Proxy([], { get: (t, key) => key === "length" ? 1e9 : 1 })',
    large,
    longTimeout,
  ),
  script(
    'a proxy that makes keys without end',
    'let n = 0; return new Proxy({}, { ownKeys: () => Array.from({ length: 3e5 }, () => "k" + n++), getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }), get: () => 1 })',
    { ends: 'failed' },
  ),
]);

checkScenarios('values that JSON does not have', createRunner(), [
  script('NaN in a list', 'return { list: [1, NaN] }', invalidAt('/list/1')),
  script('infinity under a key with a slash', 'return { "a/b": { "c~d": -Infinity } }', invalidAt('/a~1b/c~0d')),
  script('infinity alone', 'return 1e999', invalidAt('is Infinity')),
  script('a Number object that is NaN', 'return [new Number(NaN)]', { ends: 'completed', output: { got: [null] } }),
  script('an invalid date', 'return { at: new Date(NaN) }', returns({ at: null })),
  script('a BigInt deep down', 'return { a: [{ b: 1n }] }', invalidAt('/a/0/b')),
  script('a symbol as a value', 'return [Symbol("s")]', invalidAt('/0')),
  script('a symbol as a key is ignored', 'return { [Symbol("s")]: 1, a: 2 }', returns({ a: 2 })),
  script('a function under a key', 'return { run() {} }', invalidAt('/run')),
  script('a cycle through a nested object', 'const a = { b: {} }; a.b.a = a; return a', invalidAt('circular')),
  script('a key named __proto__', 'return JSON.parse(\'{"__proto__":{"isAdmin":true}}\')', completes),
  script('half a character', 'return "\\ud800"', completes),
  script('a map, which has no fields', 'return new Map([[1, 2]])', returns({})),
  script('boxed values', 'return [new String("a"), new Boolean(false), Object(2)]', returns(['a', false, 2])),
  script('a text with line separators and zeros', 'return "\\u2028\\u0000\\u2029"', returns('\u2028\u0000\u2029')),
]);
