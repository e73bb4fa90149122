/** Getters, thenables and toJSON of a result run within the script's limits, and never longer than its time limit. */
import { type Expected, failedBy, returns, checkScenarios, script } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const invalid: Expected = failedBy('output_invalid', 'invalid');
const stopped: Expected = failedBy('script_timeout', 'timeout');

checkScenarios('thenables and getters', createRunner(), [
  script('a thenable that resolves to itself', 'const t = { then(done) { done(t) } }; Promise.resolve(t); return 1', stopped),
  script(
    'a thenable that resolves to another, and so on',
    'const next = () => ({ then(done) { done(next()) } }); Promise.resolve(next()); return 1',
    stopped,
  ),
  script('a thenable that is returned', 'return { then(done) { done(1) } }', invalid),
  script('a thenable class with a getter', 'return { get then() { throw 1 } }', invalid),
  script('an async function that never ends', 'const f = async () => { for (;;) await null }; f(); return 1', stopped),
  script('a promise that never settles', 'new Promise(() => {}); return 1', returns(1)),
  script('a promise within a list', 'return [Promise.resolve(1)]', invalid),
  script('microtasks that double themselves', 'const f = () => { queueMicrotask(f); queueMicrotask(f) }; f(); return 1', {
    ends: 'failed',
  }),
  script(
    'a microtask that changes the result',
    'const a = { n: 1 }; queueMicrotask(() => { a.n = 2 }); return a',
    returns({ n: 2 }),
  ),
  script('a microtask that is not a function', 'queueMicrotask(1)', failedBy('script_threw', 'code_error')),
  script(
    'Promise.prototype.then replaced',
    'Promise.prototype.then = () => { throw 1 }; (async () => { await null })(); return 1',
    returns(1),
  ),
  script(
    'a custom species',
    'class P extends Promise { static get [Symbol.species]() { throw 1 } } try { P.resolve(1).then(() => 1) } catch { return "thrown" }',
    returns('thrown'),
  ),
  script('a getter that never ends', 'return { get a() { for (;;); } }', stopped),
  script(
    'a getter that counts',
    'let n = 0; const a = { get n() { n += 1; return n } }; return [a.n, a]',
    returns([1, { n: 2 }]),
  ),
  script(
    'a getter that deletes another property',
    'const a = { get x() { delete a.y; return 1 }, y: 2 }; return a',
    returns({ x: 1 }),
  ),
  script('a toJSON that never ends', 'return { toJSON() { for (;;); } }', stopped),
  script(
    'a toJSON that throws the author’s error',
    'return { toJSON() { throw new Error("author") } }',
    failedBy('output_invalid', 'invalid', 'author'),
  ),
  script('a toJSON that returns undefined', 'return { toJSON() {} }', returns(null)),
  script('a toJSON that returns itself', 'const a = { toJSON() { return a } }; return a', invalid),
  script(
    'an iterator that never ends',
    'return [...{ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 1 }) }) }]',
    { ends: 'failed' },
  ),
  script('a generator that never ends', 'const g = (function* () { for (;;) yield 1 })(); for (const n of g); return 1', stopped),
  script(
    'a proxy that returns itself for everything',
    'const p = new Proxy(() => p, { get: () => p, apply: () => p, has: () => true }); return p',
    invalid,
  ),
  script('a proxy whose traps never end', 'return new Proxy({}, { ownKeys() { for (;;); } })', stopped),
  script('a finalizer that prints', 'new FinalizationRegistry(() => console.log("gone")).register({}, 1); return 1', returns(1)),
  script('a weak reference', 'return new WeakRef({}).deref()', returns({})),
  script(
    'Atomics and shared memory',
    'const m = new SharedArrayBuffer(16); return typeof Atomics + m.byteLength',
    returns('undefined16'),
  ),
]);
