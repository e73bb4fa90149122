/** Checks the paths of an archive: they must stay inside the target folder, on every operating system. */
import type { ArchiveLimits } from './limits.ts';

const utf8 = new TextEncoder();

export type PathError = 'path_unsafe' | 'path_too_long';

/** `./a` is `a`: some tools write the packed folder's paths this way. */
export const withoutDot = (path: string): string => (path.startsWith('./') ? path.slice(2) : path);

/** Undefined for a relative path without empty, `.` or `..` segments, backslashes, drives and control characters. */
export function findPathError(path: string, { pathBytes }: Pick<ArchiveLimits, 'pathBytes'>): PathError | undefined {
  if (utf8.encode(path).length > pathBytes) return 'path_too_long';
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const isUnsafe = /[\\:\u0000-\u001f\u007f]/.test(path) || !path.isWellFormed();
  return isUnsafe || path.split('/').some((step) => step === '' || step === '.' || step === '..') ? 'path_unsafe' : undefined;
}
