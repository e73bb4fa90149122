/** Which paths an archive may name: those that stay inside the folder they are unpacked to, on every system. */
import type { ArchiveLimits } from './limits.ts';

const utf8 = new TextEncoder();

export type PathError = 'path_unsafe' | 'path_too_long';

/** `./a` is `a`: what packs a folder by its own name writes paths so. */
export const withoutDot = (path: string): string => (path.startsWith('./') ? path.slice(2) : path);

/** Undefined where the path is relative, has no empty, `.` or `..` step, no backslash, no drive and no control character. */
export function findPathError(path: string, { pathBytes }: Pick<ArchiveLimits, 'pathBytes'>): PathError | undefined {
  if (utf8.encode(path).length > pathBytes) return 'path_too_long';
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const isUnsafe = /[\\:\u0000-\u001f\u007f]/.test(path) || !path.isWellFormed();
  return isUnsafe || path.split('/').some((step) => step === '' || step === '.' || step === '..') ? 'path_unsafe' : undefined;
}
