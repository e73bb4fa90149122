/** What a schema refuses, as errors with a code and a pointer. The API and the forms of the console say the same. */
import type * as z from 'zod';
import type { ErrorDetail } from './errors.ts';

type Path = readonly (string | number)[];

/** @param pointer of a path into the value that was parsed */
export function errorsOfIssue(
  issue: z.core.$ZodIssue,
  pointer: (path: Path) => string,
  outer: Path = [],
): readonly ErrorDetail[] {
  const path = [...outer, ...issue.path.map((step) => (typeof step === 'symbol' ? String(step) : step))];
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({
      pointer: pointer([...path, key]),
      code: 'unknown_key',
      message: `${key} is not a known key`,
    }));
  const closest = issue.code === 'invalid_union' ? closestOf(issue.errors) : undefined;
  if (closest !== undefined) return closest.flatMap((inner) => errorsOfIssue(inner, pointer, path));
  return [{ pointer: pointer(path), code: issue.code, message: issue.message }];
}

/** The form of a union that the value misses least: "Invalid input" would not say what is wrong. */
const closestOf = (forms: readonly (readonly z.core.$ZodIssue[])[]): readonly z.core.$ZodIssue[] | undefined =>
  forms.filter((issues) => issues.length > 0).toSorted((one, other) => weightOf(one) - weightOf(other))[0];

const weightOf = (issues: readonly z.core.$ZodIssue[]): number =>
  issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);
