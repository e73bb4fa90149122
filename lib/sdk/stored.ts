/** The type of a value after storage: results are stored as JSON, and the code always gets the stored form, also the first time. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json };

type Plain = null | boolean | number | string;
type Callable = (...args: never[]) => unknown;

/** `Date` becomes a string; `undefined` becomes null, or an absent field. A value that JSON cannot represent has the type `never`. */
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

/** A field that may be undefined is optional. */
type StoredFields<Value> = Flatten<
  { [Key in keyof Value as undefined extends Value[Key] ? never : StringKey<Key>]: Stored<Value[Key]> } & {
    [Key in keyof Value as undefined extends Value[Key] ? StringKey<Key> : never]?: Stored<Exclude<Value[Key], undefined>>;
  }
>;

type StringKey<Key> = Exclude<Key, symbol>;
type Flatten<Value> = { [Key in keyof Value]: Value[Key] };
