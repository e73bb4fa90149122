/** What is asked while a result is made or a promise settled runs under the script's own limits, and never twice its time. */
import { type Expected, failedBy, gives, hold, script } from './hold.ts';
import { stage } from './play.ts';

const invalid: Expected = failedBy('output_invalid', 'invalid');
const stopped: Expected = failedBy('script_timeout', 'timeout');

hold('thenables and getters', stage(), [
  script('a thenable that resolves to itself', 'const t = { then(done) { done(t) } }; Promise.resolve(t); return 1', stopped),
  script(
    'a thenable that resolves to another, and so on',
    'const next = () => ({ then(done) { done(next()) } }); Promise.resolve(next()); return 1',
    stopped,
  ),
  script('a thenable that is returned', 'return { then(done) { done(1) } }', invalid),
  script('a thenable class with a getter', 'return { get then() { throw 1 } }', invalid),
  script('an async function that never ends', 'const f = async () => { for (;;) await null }; f(); return 1', stopped),
  script('a promise that nobody settles', 'new Promise(() => {}); return 1', gives(1)),
  script('a promise within a list', 'return [Promise.resolve(1)]', invalid),
  script('microtasks that make two of themselves', 'const f = () => { queueMicrotask(f); queueMicrotask(f) }; f(); return 1', {
    ends: 'failed',
  }),
  script(
    'a microtask that changes the result',
    'const a = { n: 1 }; queueMicrotask(() => { a.n = 2 }); return a',
    gives({ n: 2 }),
  ),
  script('a microtask of what is no function', 'queueMicrotask(1)', failedBy('script_threw', 'error')),
  script(
    'Promise.prototype.then replaced',
    'Promise.prototype.then = () => { throw 1 }; (async () => { await null })(); return 1',
    gives(1),
  ),
  script(
    'a species that is the script’s own',
    'class P extends Promise { static get [Symbol.species]() { throw 1 } } try { P.resolve(1).then(() => 1) } catch { return "thrown" }',
    gives('thrown'),
  ),
  script('a getter that never ends', 'return { get a() { for (;;); } }', stopped),
  script('a getter that counts', 'let n = 0; const a = { get n() { n += 1; return n } }; return [a.n, a]', gives([1, { n: 2 }])),
  script(
    'a getter that changes its neighbour',
    'const a = { get x() { delete a.y; return 1 }, y: 2 }; return a',
    gives({ x: 1 }),
  ),
  script('a toJSON that never ends', 'return { toJSON() { for (;;); } }', stopped),
  script(
    'a toJSON that throws the author’s error',
    'return { toJSON() { throw new Error("never so") } }',
    failedBy('output_invalid', 'invalid', 'never so'),
  ),
  script('a toJSON that gives nothing', 'return { toJSON() {} }', gives(null)),
  script('a toJSON that gives itself', 'const a = { toJSON() { return a } }; return a', invalid),
  script(
    'an iterator that never ends',
    'return [...{ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 1 }) }) }]',
    { ends: 'failed' },
  ),
  script('a generator that never ends', 'const g = (function* () { for (;;) yield 1 })(); for (const n of g); return 1', stopped),
  script(
    'a proxy that answers everything with itself',
    'const p = new Proxy(() => p, { get: () => p, apply: () => p, has: () => true }); return p',
    invalid,
  ),
  script('a proxy whose traps never end', 'return new Proxy({}, { ownKeys() { for (;;); } })', stopped),
  script('a finalizer that prints', 'new FinalizationRegistry(() => console.log("gone")).register({}, 1); return 1', gives(1)),
  script('a weak reference', 'return new WeakRef({}).deref()', gives({})),
  script(
    'Atomics and shared memory',
    'const m = new SharedArrayBuffer(16); return typeof Atomics + m.byteLength',
    gives('undefined16'),
  ),
]);
