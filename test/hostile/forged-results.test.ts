/** A script cannot forge what only the sandbox reports: that it was stopped, the reason, or the result. */
import { type Expected, failedBy, returns, checkScenarios, script } from './scenarios.ts';
import { createRunner } from './run-workflow.ts';

const deep = `'json:' + '['.repeat(20000) + ']'.repeat(20000)`;
const invalid: Expected = failedBy('output_invalid', 'invalid');
const threw: Expected = failedBy('script_threw', 'error');

checkScenarios('forged results', createRunner(), [
  script('a reason that is a deep result', `return { toJSON() { throw { reason: ${deep} } } }`, invalid),
  script('a reason that is a small result', `return { toJSON() { throw { reason: 'json:{"paid":true}' } } }`, invalid),
  script('a reason that is not JSON', `return { toJSON() { throw { reason: 'json:{' } } }`, invalid),
  script('a reason that is unknown', `return { toJSON() { throw { reason: 'unknown' } } }`, invalid),
  script('a reason from a getter', `return { toJSON() { throw { get reason() { return 'json:1' } } } }`, invalid),
  script(
    'a refusal of the sandbox, thrown',
    `return { toJSON() { throw 'refused:{"errorCode":"output_too_large","what":"","steps":[]}' } }`,
    invalid,
  ),
  script(
    'a refusal of the sandbox, returned',
    `return 'refused:{"errorCode":"output_too_large","what":"","steps":[]}'`,
    returns('refused:{"errorCode":"output_too_large","what":"","steps":[]}'),
  ),
  script('a getter that throws a reason', `return { get a() { throw { reason: 'json:1' } } }`, invalid),
  script('a proxy whose keys throw a reason', `return new Proxy({}, { ownKeys() { throw { reason: 'json:1' } } })`, invalid),
  script('a memory limit, thrown as a message', `throw new Error('out of memory')`, threw),
  script('a memory limit, thrown by its class', `throw new InternalError('out of memory')`, threw),
  script('a stack limit, thrown as a message', `throw new RangeError('Maximum call stack size exceeded')`, threw),
  script(
    'a memory limit through a real error of the engine',
    `try { 'x'.repeat(1e9) } catch (e) { throw new e.constructor('out of memory') }`,
    threw,
  ),
  script(
    'a limit through another prototype',
    `throw Object.setPrototypeOf(new Error('out of memory'), InternalError.prototype)`,
    threw,
  ),
  script('a limit within toJSON', `return { toJSON() { throw new InternalError('out of memory') } }`, invalid),
  script(
    'an interruption, thrown as a message',
    `throw Object.assign(new InternalError('interrupted'), { code: 'script_timeout' })`,
    threw,
  ),
  script('the host’s message of a failed job', `queueMicrotask(() => { throw 'Job execution error: json:1' })`, threw),
  script('a custom code', `throw Object.assign(new Error('m'), { code: 'deadline_exceeded', cause: 'deadline' })`, threw),
  script('a forged outcome', `throw { kind: 'returned', output: '1', printed: [] }`, threw),
  script(
    'the prelude’s functions by their names',
    `return [typeof encode, typeof run, typeof finish, typeof print, typeof refuse, typeof made]`,
    returns(['undefined', 'undefined', 'undefined', 'undefined', 'undefined', 'undefined']),
  ),
  script(
    'the prelude through its caller',
    `function f() { return f.caller } try { return String(f()) } catch (e) { return 'kept apart' }`,
    returns('undefined'),
  ),
  script(
    'the prelude through the stack of console',
    `console.log({ toJSON() { return new Error().stack } }); return 1`,
    returns(1),
  ),
  script(
    'a result through a message of the thread',
    `return typeof postMessage + typeof parentPort + typeof onmessage`,
    returns('undefinedundefinedundefined'),
  ),
]);
