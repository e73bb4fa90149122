/**
 * Runs inside the sandbox before the script: gives it `ctx`, `inputs` and `console`, and then runs it and says how it ended.
 *
 * What it needs of the language is taken before the script could change anything, and what the script throws or returns is
 * believed in nothing: an answer is made of texts that this code has read or written itself, each cut to its limit. A script
 * that breaks its own intrinsics harms only itself.
 *
 * The machine raises errors of the same classes as a script does. Constructors are therefore handed to the script in a form
 * that remembers what they made: what has no maker was raised by the machine.
 */
export const prelude = `(function (print, context, inputs, outputLimit, printLimit, levelLimit, wordLimit) {
  'use strict';
  const { parse, stringify } = JSON;
  const { apply, construct } = Reflect;
  const { slice } = String.prototype;
  const { getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf, defineProperty } = Object;
  const { isFinite } = Number;
  const isError = Error.isError;
  const NativePromise = Promise, NativeError = Error, NativeString = String, NativeProxy = Proxy;
  const internalPrototype = InternalError.prototype, rangePrototype = RangeError.prototype;
  const { add, has } = WeakSet.prototype;
  const made = new WeakSet();
  const nativeMicrotask = queueMicrotask;

  const cut = (text) => apply(slice, text, [0, wordLimit]);
  const text = (value) => {
    if (typeof value === 'string') return value;
    try {
      if (value instanceof NativeError) return value.name + ': ' + value.message;
      const json = typeof value === 'object' ? stringify(value) : undefined;
      return json === undefined ? NativeString(value) : json;
    } catch {
      return '(a value that has no text)';
    }
  };
  const log = (...values) => {
    let line = '';
    for (let at = 0; at < values.length; at += 1) line += (at === 0 ? '' : ' ') + text(values[at]);
    print(apply(slice, line, [0, printLimit]));
  };
  globalThis.console = { log, info: log, warn: log, error: log, debug: log };
  globalThis.ctx = parse(context);
  globalThis.inputs = parse(inputs);

  // An error's maker is the constructor that every other one calls in the end.
  const remembered = (Native) => {
    const wrapped = new NativeProxy(Native, {
      __proto__: null,
      construct: (target, given, maker) => {
        const error = construct(target, given, maker === wrapped ? target : maker);
        apply(add, made, [error]);
        return error;
      },
      apply: (target, self, given) => {
        const error = construct(target, given);
        apply(add, made, [error]);
        return error;
      },
    });
    defineProperty(Native.prototype, 'constructor', { __proto__: null, value: wrapped, writable: true, configurable: true });
    defineProperty(globalThis, Native.name, { __proto__: null, value: wrapped, writable: true, configurable: true });
    return wrapped;
  };
  const Base = remembered(NativeError);
  for (const Native of [RangeError, InternalError, TypeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError])
    setPrototypeOf(remembered(Native), Base);

  /** What the machine says of itself; undefined where the script made the error. */
  const limitOf = (error) => {
    if (!isError(error) || apply(has, made, [error])) return undefined;
    const words = getOwnPropertyDescriptor(error, 'message')?.value;
    const kind = getPrototypeOf(error);
    if (kind === internalPrototype) return words === 'out of memory' || words === 'string too long' ? 'memory_exceeded' : undefined;
    if (kind !== rangePrototype) return undefined;
    if (words === 'Maximum call stack size exceeded') return 'recursion_exceeded';
    return words === 'invalid array buffer length' || words === 'invalid string length' ? 'memory_exceeded' : undefined;
  };

  const wordsOf = (error, key) => {
    const value = error[key];
    return typeof value === 'string' ? value : value === undefined || value === null ? '' : text(value);
  };
  const worded = (value) => {
    if (typeof value !== 'object' && typeof value !== 'function') return text(value) + ' was thrown';
    if (value === null) return 'null was thrown';
    if (!isError(value)) return text(value) + ' was thrown';
    return (wordsOf(value, 'name') || 'Error') + ': ' + wordsOf(value, 'message');
  };
  /** Reading an error may run the script's own code, which may throw again. */
  const attempted = (read) => {
    try {
      return cut(read());
    } catch {
      return '';
    }
  };
  const threw = (error) => {
    let limit;
    try {
      limit = limitOf(error);
    } catch {}
    return 'threw:' + stringify({
      __proto__: null,
      fault: limit ?? 'script_threw',
      message: attempted(() => worded(error)) || '(an error that has no text)',
      stack: attempted(() => (isError(error) && typeof error.stack === 'string' ? error.stack : '')),
    });
  };

  /** What the microtasks of the script throw belongs to the script: the first of it is how it ended. */
  let late;
  globalThis.queueMicrotask = (task) => {
    if (typeof task !== 'function') throw new TypeError('queueMicrotask takes a function');
    nativeMicrotask(() => {
      if (late !== undefined) return;
      try {
        task();
      } catch (error) {
        late = { __proto__: null, error };
      }
    });
  };

  let result;
  let refusal;
  const refuse = (place, fault, what) => {
    let steps = '';
    for (let at = place; at.level > 0; at = at.up) steps = stringify(cut(at.key)) + (steps === '' ? '' : ',' + steps);
    refusal = 'refused:{"fault":' + stringify(fault) + ',"what":' + stringify(cut(what)) + ',"steps":[' + steps + ']}';
    throw refusal;
  };
  const encode = () => {
    if (result === undefined) return 'json:null';
    let size = 0;
    // The objects around the value at hand, the innermost first. The outermost is the one that stringify itself makes.
    let around = { __proto__: null, value: undefined, key: '', up: null, level: -1 };
    const json = stringify(result, function (key, value) {
      while (around.value !== this && around.up !== null) around = around.up;
      const here = { __proto__: null, value, key, up: around, level: around.level + 1 };
      if (here.level > levelLimit) refuse(here, 'output_too_deep', '');
      const type = typeof value;
      if (type === 'function') refuse(here, 'output_invalid', 'a function');
      if (type === 'symbol') refuse(here, 'output_invalid', 'a symbol');
      if (type === 'bigint') refuse(here, 'output_invalid', 'a BigInt; make it a number or a text');
      if (type === 'number' && !isFinite(value)) refuse(here, 'output_invalid', value + ', which is no number in JSON');
      if (value instanceof NativePromise) refuse(here, 'output_invalid', 'a promise; scripts run in one go, without await');
      size += key.length + (type === 'string' ? value.length : 1);
      if (size > outputLimit) refuse(here, 'output_too_large', '');
      if (type === 'object' && value !== null) around = here;
      return value;
    });
    // Where a toJSON of the script gives nothing, there is no text at all.
    return 'json:' + (json === undefined ? 'null' : json);
  };

  return {
    __proto__: null,
    /** Calls the script's function; the answer is how it ended where it did not end well. */
    run: (body) => {
      try {
        result = body();
        return '';
      } catch (error) {
        return threw(error);
      }
    },
    /** After all that the script queued: its result as JSON, or why there is none. */
    finish: () => {
      if (late !== undefined) return threw(late.error);
      try {
        return encode();
      } catch (error) {
        if (refusal !== undefined) return refusal;
        let limit;
        try {
          limit = limitOf(error);
        } catch {}
        if (limit !== undefined) return threw(error);
        const what = 'what cannot be made JSON: ' + attempted(() => worded(error));
        return 'refused:{"fault":"output_invalid","steps":[],"what":' + stringify(cut(what)) + '}';
      }
    },
  };
})`;
