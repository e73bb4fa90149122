/** The path of an HTTP query: fixed segments and arguments. */

/** Names of the arguments in the path, with repetitions. */
export const argumentNamesIn = (path: string): readonly string[] =>
  path.split('/').flatMap((step) => {
    const [, name] = /^:([A-Za-z_]\w*)$/.exec(step) ?? [];
    return name === undefined ? [] : [name];
  });

/** Undefined if an argument is empty, `.` or `..`, which would change the path. */
export function fillPath(path: string, textOf: (name: string) => string): string | undefined {
  const steps = path.split('/').map((step) => {
    const [name] = argumentNamesIn(step);
    if (name === undefined) return step;
    const text = textOf(name);
    return ['', '.', '..'].includes(text) ? undefined : encodeURIComponent(text.toWellFormed());
  });
  return steps.includes(undefined) ? undefined : steps.join('/');
}
