/**
 * Runs inside the sandbox before the script: gives it `ctx`, `inputs` and `console`, and keeps, from before the script
 * could change anything, what turns a result into JSON. A script that breaks its own intrinsics harms only itself.
 */
export const prelude = `(function (print, context, inputs, outputLimit, printLimit) {
  'use strict';
  const { parse, stringify } = JSON;
  const { apply } = Reflect;
  const { slice } = String.prototype;
  const NativePromise = Promise, Internal = InternalError, Range = RangeError;
  const text = (value) => {
    if (typeof value === 'string') return value;
    try {
      if (value instanceof Error) return value.name + ': ' + value.message;
      const json = typeof value === 'object' ? stringify(value) : undefined;
      return json === undefined ? String(value) : json;
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

  const refused = (reason) => ({ reason });
  const tooLarge = refused('output_too_large');
  const named = (key, what) => refused('output_invalid:the result ' + (key === '' ? 'is ' : 'holds under "' + key + '" ') + what);
  return (result) => {
    if (result === undefined) return 'json:null';
    let size = 0;
    try {
      return 'json:' + stringify(result, (key, value) => {
        if (typeof value === 'function') throw named(key, 'a function');
        if (typeof value === 'symbol') throw named(key, 'a symbol');
        if (typeof value === 'bigint') throw named(key, 'a BigInt; make it a number or a text');
        if (value instanceof NativePromise) throw named(key, 'a promise; scripts run in one go, without await');
        size += key.length + (typeof value === 'string' ? value.length : 1);
        if (size > outputLimit) throw tooLarge;
        return value;
      });
    } catch (trouble) {
      if (trouble instanceof Internal || trouble instanceof Range) throw trouble;
      if (trouble !== null && typeof trouble === 'object' && typeof trouble.reason === 'string') return trouble.reason;
      return 'output_invalid:the result cannot be made JSON: ' + text(trouble);
    }
  };
})`;
