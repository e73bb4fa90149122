/** What becomes of a value in the log: results are written as JSON, and the code is given what was written, the first time too. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

type Plain = null | boolean | number | string;
type Callable = (...args: never[]) => unknown;

/** `Date` comes back as a text, `undefined` as null or not at all. What cannot be written is refused, and so never comes back. */
export type Stored<Value> = unknown extends Value
  ? Value
  : Value extends Plain
    ? Value
    : Value extends undefined | void
      ? null
      : Value extends { toJSON(): infer Written }
        ? Stored<Written>
        : Value extends Callable | symbol | bigint | ReadonlyMap<unknown, unknown> | ReadonlySet<unknown>
          ? never
          : Value extends readonly unknown[]
            ? { [Index in keyof Value]: Stored<Value[Index]> }
            : Value extends object
              ? StoredFields<Value>
              : Value;

/** A field that may be undefined may be absent. */
type StoredFields<Value> = Flatten<
  { [Key in keyof Value as undefined extends Value[Key] ? never : StringKey<Key>]: Stored<Value[Key]> } & {
    [Key in keyof Value as undefined extends Value[Key] ? StringKey<Key> : never]?: Stored<Exclude<Value[Key], undefined>>;
  }
>;

type StringKey<Key> = Exclude<Key, symbol>;
type Flatten<Value> = { [Key in keyof Value]: Value[Key] };
