/** A script may change all globals: this affects only itself, and the next script gets a new environment. */
import { type Expected, failedBy, returns, checkScenarios, script } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const sharedRunner = createRunner();
const invalid: Expected = failedBy('output_invalid', 'invalid');

checkScenarios('prototypes and globals', sharedRunner, [
  script('JSON.stringify replaced', 'JSON.stringify = () => "{}"; return { a: 1 }', returns({ a: 1 })),
  script('JSON.parse replaced', 'JSON.parse = () => { throw 1 }; return 1', returns(1)),
  script('JSON deleted', 'delete globalThis.JSON; return 1', returns(1)),
  script(
    'all of globalThis deleted',
    'for (const key of Object.getOwnPropertyNames(globalThis)) { try { delete globalThis[key] } catch {} } return 1',
    returns(1),
  ),
  script(
    'every prototype frozen',
    'for (const key of Reflect.ownKeys(globalThis)) { const proto = globalThis[key]?.prototype; if (proto) Object.freeze(proto) } return [1]',
    returns([1]),
  ),
  script('Object.prototype with a toJSON', 'Object.prototype.toJSON = () => "mine"; return { a: 1 }', returns('mine')),
  script(
    'Object.prototype with a toJSON that returns undefined',
    'Object.prototype.toJSON = () => undefined; return { a: 1 }',
    returns(null),
  ),
  script('Object.prototype with a toJSON that throws', 'Object.prototype.toJSON = () => { throw 1 }; return { a: 1 }', invalid),
  script(
    'Array.prototype with a setter for elements',
    'Object.defineProperty(Array.prototype, 0, { set() { throw 1 } }); return "ok"',
    returns('ok'),
  ),
  script(
    'Array.prototype with a getter for length',
    'Object.defineProperty(Object.prototype, "length", { get() { throw 1 } }); return "ok"',
    returns('ok'),
  ),
  script(
    'String.prototype.slice replaced',
    'String.prototype.slice = () => { throw 1 }; console.log("a"); return "ok"',
    returns('ok'),
  ),
  script(
    'String made a function that throws',
    'globalThis.String = () => { throw 1 }; throw 5',
    failedBy('script_threw', 'error', '5 was thrown'),
  ),
  script(
    'Error.prototype.name with a getter that throws',
    'Object.defineProperty(Error.prototype, "name", { get() { throw 1 } }); null.x',
    failedBy('script_threw', 'code_error'),
  ),
  script(
    'Error.prototype.message with a getter that never ends',
    'Object.defineProperty(Error.prototype, "message", { get() { for (;;); } }); delete Error.prototype.message; null.x',
    failedBy('script_threw', 'code_error'),
  ),
  script('Error replaced', 'globalThis.Error = class {}; null.x', failedBy('script_threw', 'code_error', 'TypeError')),
  script(
    'Error.isError that always returns true',
    'Error.isError = () => true; throw { message: "x" }',
    failedBy('script_threw', 'error'),
  ),
  script(
    'InternalError.prototype without a name',
    'delete InternalError.prototype.name; return "x".repeat(1e9)',
    failedBy('memory_exceeded', 'error'),
  ),
  script(
    'RangeError.prototype frozen by a proxy',
    'Object.setPrototypeOf(RangeError.prototype, new Proxy({}, { get() { throw 1 } })); const f = () => f() + 1; f()',
    { ends: 'failed', cause: 'error' },
  ),
  script(
    'WeakSet.prototype.add replaced',
    'WeakSet.prototype.add = () => { throw 1 }; WeakSet.prototype.has = () => true; throw new Error("m")',
    failedBy('script_threw', 'error', 'Error: m'),
  ),
  script(
    'Reflect.apply replaced',
    'Reflect.apply = () => { throw 1 }; Reflect.construct = () => ({}); throw new TypeError("m")',
    failedBy('script_threw', 'code_error', 'TypeError: m'),
  ),
  script(
    'Function.prototype.call replaced',
    'Function.prototype.call = Function.prototype.apply = () => { throw 1 }; return [1].map((n) => n)',
    returns([1]),
  ),
  script(
    'Symbol.hasInstance of Promise',
    'Object.defineProperty(Promise, Symbol.hasInstance, { value: () => false }); return Promise.resolve(1)',
    { ends: 'completed' },
  ),
  script(
    'Symbol.toPrimitive on every object',
    'Object.prototype[Symbol.toPrimitive] = () => { throw 1 }; return { a: 1 }',
    returns({ a: 1 }),
  ),
  script(
    'Proxy replaced',
    'globalThis.Proxy = null; globalThis.WeakSet = null; throw new Error("m")',
    failedBy('script_threw', 'error', 'Error: m'),
  ),
  script('ctx and inputs replaced', 'ctx = null; globalThis.inputs = 1; return typeof ctx', returns('object')),
  script(
    'a new environment afterwards',
    'return [typeof JSON.parse, typeof Error, [1].map((n) => n + 1), new Error("m").message, Error.name, RangeError.name]',
    returns(['function', 'function', [2], 'm', 'Error', 'RangeError']),
  ),
  script(
    'errors made by their unchanged constructors',
    'const e = new RangeError("m", { cause: 1 }); class Own extends TypeError {} return [e instanceof RangeError, e instanceof Error, e.constructor === RangeError, new Own("x") instanceof Own, TypeError("y").message, e.cause, Object.getPrototypeOf(RangeError) === Error, Error.prototype.constructor === Error]',
    returns([true, true, true, true, 'y', 1, true, true]),
  ),
]);
