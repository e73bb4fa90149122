/**
 * Code that runs inside the sandbox before the script. It gives the script `ctx`, `inputs` and `console`, runs it, and reports how it ended.
 *
 * The prelude takes the intrinsics that it needs before the script can replace them. It trusts nothing that the script throws or
 * returns: a result consists of strings that the prelude has read or written itself, each cut to its limit. A script that breaks its
 * own intrinsics harms only itself.
 *
 * QuickJS raises errors of the same classes as a script does. The script therefore gets proxies of the error constructors, which
 * record the errors that they make. An error that no proxy has recorded comes from QuickJS.
 */
export const prelude = `(function (print, context, inputs, outputLimit, printLimit, levelLimit, messageLimit) {
  'use strict';
  const { parse, stringify } = JSON;
  const { apply, construct } = Reflect;
  const { slice } = String.prototype;
  const { getOwnPropertyDescriptor, getPrototypeOf, setPrototypeOf, defineProperty } = Object;
  const { isFinite } = Number;
  const isError = Error.isError;
  const NativePromise = Promise, NativeError = Error, NativeString = String, NativeProxy = Proxy;
  const internalPrototype = InternalError.prototype, rangePrototype = RangeError.prototype;
  const referencePrototype = ReferenceError.prototype, syntaxPrototype = SyntaxError.prototype, typePrototype = TypeError.prototype;
  const { add, has } = WeakSet.prototype;
  const made = new WeakSet();
  const nativeMicrotask = queueMicrotask;

  const cut = (text) => apply(slice, text, [0, messageLimit]);
  const text = (value) => {
    if (typeof value === 'string') return value;
    try {
      if (value instanceof NativeError) return value.name + ': ' + value.message;
      const json = typeof value === 'object' ? stringify(value) : undefined;
      return json === undefined ? NativeString(value) : json;
    } catch {
      return '(a value without a text form)';
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

  // A subclass of Error calls one of these proxies in the end, so its errors are recorded too.
  const tracked = (Native) => {
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
  const Base = tracked(NativeError);
  for (const Native of [RangeError, InternalError, TypeError, SyntaxError, ReferenceError, EvalError, URIError, AggregateError])
    setPrototypeOf(tracked(Native), Base);

  /** The limit of QuickJS that the error reports; undefined for an error that the script made. */
  const limitOf = (error) => {
    if (!isError(error) || apply(has, made, [error])) return undefined;
    const message = getOwnPropertyDescriptor(error, 'message')?.value;
    const prototype = getPrototypeOf(error);
    if (prototype === internalPrototype) return message === 'out of memory' || message === 'string too long' ? 'memory_exceeded' : undefined;
    if (prototype !== rangePrototype) return undefined;
    if (message === 'Maximum call stack size exceeded') return 'recursion_exceeded';
    return message === 'invalid array buffer length' || message === 'invalid string length' ? 'memory_exceeded' : undefined;
  };

  /** Whether the error is of a class that the engine throws for mistakes in code. A class of the script is not. */
  const isCodeError = (error) => {
    if (!isError(error)) return false;
    const prototype = getPrototypeOf(error);
    return prototype === referencePrototype || prototype === syntaxPrototype || prototype === typePrototype;
  };

  const textOf = (error, key) => {
    const value = error[key];
    return typeof value === 'string' ? value : value === undefined || value === null ? '' : text(value);
  };
  const describe = (value) => {
    if (typeof value !== 'object' && typeof value !== 'function') return text(value) + ' was thrown';
    if (value === null) return 'null was thrown';
    if (!isError(value)) return text(value) + ' was thrown';
    return (textOf(value, 'name') || 'Error') + ': ' + textOf(value, 'message');
  };
  /** Reading an error may run a getter of the script, which may throw. */
  const safely = (read) => {
    try {
      return cut(read());
    } catch {
      return '';
    }
  };
  const threw = (error) => {
    let limit;
    let isMistake = false;
    try {
      limit = limitOf(error);
      isMistake = isCodeError(error);
    } catch {}
    return 'threw:' + stringify({
      __proto__: null,
      errorCode: limit ?? 'script_threw',
      isCodeError: isMistake,
      message: safely(() => describe(error)) || '(an error without a message)',
      stack: safely(() => (isError(error) && typeof error.stack === 'string' ? error.stack : '')),
    });
  };

  /** The first error of a microtask is the script's error. */
  let microtaskError;
  globalThis.queueMicrotask = (task) => {
    if (typeof task !== 'function') throw new TypeError('queueMicrotask takes a function');
    nativeMicrotask(() => {
      if (microtaskError !== undefined) return;
      try {
        task();
      } catch (error) {
        microtaskError = { __proto__: null, error };
      }
    });
  };

  let result;
  let refusal;
  const refuse = (current, errorCode, what) => {
    let steps = '';
    for (let at = current; at.level > 0; at = at.parent) steps = stringify(cut(at.key)) + (steps === '' ? '' : ',' + steps);
    refusal = 'refused:{"errorCode":' + stringify(errorCode) + ',"what":' + stringify(cut(what)) + ',"steps":[' + steps + ']}';
    throw refusal;
  };
  const encode = () => {
    if (result === undefined) return 'json:null';
    let size = 0;
    // The objects that contain the current value, innermost first. The outermost is the wrapper that stringify creates.
    let ancestor = { __proto__: null, value: undefined, key: '', parent: null, level: -1 };
    const json = stringify(result, function (key, value) {
      while (ancestor.value !== this && ancestor.parent !== null) ancestor = ancestor.parent;
      const current = { __proto__: null, value, key, parent: ancestor, level: ancestor.level + 1 };
      if (current.level > levelLimit) refuse(current, 'output_too_deep', '');
      const type = typeof value;
      if (type === 'function') refuse(current, 'output_invalid', 'a function');
      if (type === 'symbol') refuse(current, 'output_invalid', 'a symbol');
      if (type === 'bigint') refuse(current, 'output_invalid', 'a BigInt; convert it to a number or a string');
      if (type === 'number' && !isFinite(value)) refuse(current, 'output_invalid', value + ', which JSON cannot represent');
      if (value instanceof NativePromise) refuse(current, 'output_invalid', 'a promise; scripts run synchronously, without await');
      size += key.length + (type === 'string' ? value.length : 1);
      if (size > outputLimit) refuse(current, 'output_too_large', '');
      if (type === 'object' && value !== null) ancestor = current;
      return value;
    });
    // stringify returns undefined where a toJSON of the script returns undefined.
    return 'json:' + (json === undefined ? 'null' : json);
  };

  return {
    __proto__: null,
    /** Calls the script's function. Returns '' for success, otherwise the encoded error. */
    run: (body) => {
      try {
        result = body();
        return '';
      } catch (error) {
        return threw(error);
      }
    },
    /** Called after the script's microtasks. Returns the result as JSON, or the reason why there is none. */
    finish: () => {
      if (microtaskError !== undefined) return threw(microtaskError.error);
      try {
        return encode();
      } catch (error) {
        if (refusal !== undefined) return refusal;
        let limit;
        try {
          limit = limitOf(error);
        } catch {}
        if (limit !== undefined) return threw(error);
        const what = 'not serializable as JSON: ' + safely(() => describe(error));
        return 'refused:{"errorCode":"output_invalid","steps":[],"what":' + stringify(cut(what)) + '}';
      }
    },
  };
})`;
