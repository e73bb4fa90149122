/** The path of an HTTP query: steps that are texts, and steps that are arguments. */

/** The names of the arguments in the path, as often as they stand there. */
export const namesInPath = (path: string): readonly string[] =>
  path.split('/').flatMap((step) => {
    const [, name] = /^:([A-Za-z_]\w*)$/.exec(step) ?? [];
    return name === undefined ? [] : [name];
  });

/** Undefined where an argument would be no step of its own: nothing, or one that leads elsewhere. */
export function filledPath(path: string, textOf: (name: string) => string): string | undefined {
  const steps = path.split('/').map((step) => {
    const [name] = namesInPath(step);
    if (name === undefined) return step;
    const text = textOf(name);
    return ['', '.', '..'].includes(text) ? undefined : encodeURIComponent(text.toWellFormed());
  });
  return steps.includes(undefined) ? undefined : steps.join('/');
}
