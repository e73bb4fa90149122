/** The path of an HTTP query: steps that are texts, and steps that are arguments. */

/** The names of the arguments in the path, as often as they stand there. */
export const argumentNamesIn = (path: string): readonly string[] =>
  path.split('/').flatMap((step) => {
    const [, name] = /^:([A-Za-z_]\w*)$/.exec(step) ?? [];
    return name === undefined ? [] : [name];
  });

/** Undefined where an argument would be no step of its own: nothing, or one that leads elsewhere. */
export function fillPath(path: string, textOf: (name: string) => string): string | undefined {
  const steps = path.split('/').map((step) => {
    const [name] = argumentNamesIn(step);
    if (name === undefined) return step;
    const text = textOf(name);
    return ['', '.', '..'].includes(text) ? undefined : encodeURIComponent(text.toWellFormed());
  });
  return steps.includes(undefined) ? undefined : steps.join('/');
}
