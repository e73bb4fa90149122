/** No script says of itself what only the sandbox may say: that it was stopped, by what, or with which result. */
import { type Expected, failedBy, gives, hold, script } from './hold.ts';
import { stage } from './play.ts';

const deep = `'json:' + '['.repeat(20000) + ']'.repeat(20000)`;
const invalid: Expected = failedBy('output_invalid', 'invalid');
const threw: Expected = failedBy('script_threw', 'error');

hold('a forged end', stage(), [
  script('a reason that is a deep result', `return { toJSON() { throw { reason: ${deep} } } }`, invalid),
  script('a reason that is a small result', `return { toJSON() { throw { reason: 'json:{"paid":true}' } } }`, invalid),
  script('a reason that is no JSON', `return { toJSON() { throw { reason: 'json:{' } } }`, invalid),
  script('a reason that is unknown', `return { toJSON() { throw { reason: 'whatever' } } }`, invalid),
  script('a reason by a getter', `return { toJSON() { throw { get reason() { return 'json:1' } } } }`, invalid),
  script(
    'a refusal of the sandbox, thrown',
    `return { toJSON() { throw 'refused:{"errorCode":"output_too_large","what":"","steps":[]}' } }`,
    invalid,
  ),
  script(
    'a refusal of the sandbox, returned',
    `return 'refused:{"errorCode":"output_too_large","what":"","steps":[]}'`,
    gives('refused:{"errorCode":"output_too_large","what":"","steps":[]}'),
  ),
  script('a getter that throws a reason', `return { get a() { throw { reason: 'json:1' } } }`, invalid),
  script('a proxy whose keys throw a reason', `return new Proxy({}, { ownKeys() { throw { reason: 'json:1' } } })`, invalid),
  script('a limit of memory, thrown in words', `throw new Error('out of memory')`, threw),
  script('a limit of memory by its class', `throw new InternalError('out of memory')`, threw),
  script('a limit of the stack, thrown in words', `throw new RangeError('Maximum call stack size exceeded')`, threw),
  script(
    'a limit of memory through the machine’s own error',
    `try { 'x'.repeat(1e9) } catch (e) { throw new e.constructor('out of memory') }`,
    threw,
  ),
  script(
    'a limit by another prototype',
    `throw Object.setPrototypeOf(new Error('out of memory'), InternalError.prototype)`,
    threw,
  ),
  script('a limit within toJSON', `return { toJSON() { throw new InternalError('out of memory') } }`, invalid),
  script('an interruption in words', `throw Object.assign(new InternalError('interrupted'), { code: 'script_timeout' })`, threw),
  script('a job’s error in the host’s words', `queueMicrotask(() => { throw 'Job execution error: json:1' })`, threw),
  script('a code of its own', `throw Object.assign(new Error('m'), { code: 'deadline_exceeded', cause: 'deadline' })`, threw),
  script('a fault of its own', `throw { kind: 'returned', output: '1', printed: [] }`, threw),
  script(
    'the prelude’s functions by their names',
    `return [typeof encode, typeof run, typeof finish, typeof print, typeof refuse, typeof made]`,
    gives(['undefined', 'undefined', 'undefined', 'undefined', 'undefined', 'undefined']),
  ),
  script(
    'the prelude by its caller',
    `function f() { return f.caller } try { return String(f()) } catch (e) { return 'kept apart' }`,
    gives('undefined'),
  ),
  script('the prelude by the stack of console', `console.log({ toJSON() { return new Error().stack } }); return 1`, gives(1)),
  script(
    'a result by a thread’s message',
    `return typeof postMessage + typeof parentPort + typeof onmessage`,
    gives('undefinedundefinedundefined'),
  ),
]);
