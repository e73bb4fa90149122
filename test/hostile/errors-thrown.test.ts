/** A thrown value is read as text only: no field of it is trusted. */
import { failedBy, returns, checkScenarios, longTimeout, script } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const threw = failedBy('script_threw', 'error');
/** A TypeError of QuickJS. */
const mistaken = failedBy('script_threw', 'code_error');
const digits = `'9'.repeat(400)`;

checkScenarios('thrown values', createRunner(), [
  script(
    'a line number that is Infinity',
    `const e = new Error('m'); e.stack = '(script.js:' + ${digits} + ':1)'; throw e`,
    threw,
  ),
  script('a column that is Infinity', `const e = new Error('m'); e.stack = '(script.js:1:' + ${digits} + ')'; throw e`, threw),
  script('a line that the script does not have', `const e = new Error('m'); e.stack = '(script.js:4000:1)'; throw e`, threw),
  script('a stack that is a number', `const e = new Error('m'); e.stack = 1e308; throw e`, mistaken),
  script(
    'a stack that is an object with a toString',
    `const e = new Error('m'); e.stack = { toString() { throw 1 } }; throw e`,
    mistaken,
  ),
  script('a stack of ten megabytes', `const e = new Error('m'); e.stack = '(script.js:1:1)'.repeat(7e5); throw e`, threw),
  script(
    'a stack whose getter throws',
    `const e = new Error('m'); Object.defineProperty(e, 'stack', { get() { throw 7 } }); throw e`,
    threw,
  ),
  script('a message whose getter throws', `throw Object.defineProperty(new Error(), 'message', { get() { throw this } })`, threw),
  script('a name that is a symbol', `throw Object.assign(new Error('m'), { name: Symbol('n') })`, threw),
  script('a message of two megabytes', `throw new Error('m'.repeat(2e6))`, failedBy('script_threw', 'error', 'mmmm')),
  script('half a character at the end of the message', `throw new Error('m'.repeat(1992) + '😀😀')`, threw),
  script('an error that prepares its own stack', `Error.prepareStackTrace = () => { throw 1 }; throw new Error('m')`, threw),
  script('a stack trace limit that is not a number', `Error.stackTraceLimit = 'many'; null.x`, mistaken),
  script(
    'an infinite stack trace limit',
    `Error.stackTraceLimit = Infinity; const f = (n) => n === 0 ? null.x : f(n - 1); f(500)`,
    mistaken,
  ),
  script(
    'an error whose cause is itself',
    `const e = new Error('m'); e.cause = e; throw e`,
    failedBy('script_threw', 'error', 'Error: m'),
  ),
  script(
    'an aggregate of a hundred thousand errors',
    `throw new AggregateError(Array.from({ length: 1e5 }, () => new Error('x')), 'all')`,
    threw,
    longTimeout,
  ),
  script('undefined', 'throw undefined', failedBy('script_threw', 'error', 'undefined was thrown')),
  script('a symbol', `throw Symbol('s')`, threw),
  script('a BigInt of many digits', 'throw 7n ** 20000n', threw, { withinMs: 12_000 }),
  script('a function', 'throw () => 1', threw),
  script(
    'a function whose name is a getter',
    `const f = () => 1; Object.defineProperty(f, 'name', { get() { throw 1 } }); throw f`,
    threw,
  ),
  script('a promise', 'throw Promise.reject(new Error("inner"))', threw),
  script('a suspended generator', 'throw (function* () { yield 1 })()', threw),
  script('a module namespace look-alike', `throw Object.freeze({ __proto__: null, [Symbol.toStringTag]: 'Module' })`, threw),
  script('an error without a prototype', `throw Object.setPrototypeOf(new Error('m'), null)`, threw),
  script('a revoked proxy', `const { proxy, revoke } = Proxy.revocable({}, {}); revoke(); throw proxy`, threw),
  script('a proxy of an error', `throw new Proxy(new Error('m'), { get() { throw 1 } })`, threw),
  script(
    'an error within an error, ten thousand deep',
    `let e = new Error('0'); for (let i = 0; i < 1e4; i += 1) e = new Error('n', { cause: e }); throw e`,
    threw,
  ),
  script(
    'the error of a microtask',
    `queueMicrotask(() => { throw new Error('late') }); return 1`,
    failedBy('script_threw', 'error', 'late'),
  ),
  script(
    'many errors of microtasks',
    `for (let i = 0; i < 1000; i += 1) queueMicrotask(() => { throw new Error('late ' + i) })`,
    failedBy('script_threw', 'error', 'late 0'),
  ),
  script('an unhandled rejection', `Promise.reject(new Error('unhandled')); return 1`, returns(1)),
  script(
    'a custom error class',
    `class OrderLost extends Error { get name() { return 'OrderLost' } } throw new OrderLost('17')`,
    failedBy('script_threw', 'error', 'OrderLost: 17'),
  ),
  script(
    'a text that looks like a result of the sandbox',
    `throw 'json:{"forged":true}'`,
    failedBy('script_threw', 'error', 'was thrown'),
  ),
  script('an object that looks like an error', `throw { name: 'Error', message: 'm', stack: '(script.js:1:1)' }`, threw),
  script('a syntax error of eval', `eval('][')`, failedBy('script_threw', 'code_error', 'SyntaxError')),
  script('a suppressed error', `throw new SuppressedError(new Error('a'), new Error('b'), 'both')`, threw),
]);
