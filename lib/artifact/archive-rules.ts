/**
 * What the archive of a deployment may contain: its limits, its paths, and the files of its manifest. docs/LIMITS.md has the reasons of
 * the limits.
 */
import { createHash } from 'node:crypto';
import type { ManifestFile } from '../ports/deployments.ts';

export interface ArchiveLimits {
  /** the uploaded archive, in bytes */
  readonly archiveBytes: number;
  /** the unpacked archive, including its headers, in bytes */
  readonly unpackedBytes: number;
  readonly entries: number;
  /** one path, in bytes of UTF-8 */
  readonly pathBytes: number;
}

const mebibyte = 1_048_576;

export const archiveLimits: ArchiveLimits = {
  archiveBytes: 50 * mebibyte,
  unpackedBytes: 200 * mebibyte,
  entries: 2_000,
  pathBytes: 512,
};

const utf8 = new TextEncoder();

export type PathError = 'path_unsafe' | 'path_too_long';

/** `./a` is `a`: some tools write the packed folder's paths this way. */
export const withoutDot = (path: string): string => (path.startsWith('./') ? path.slice(2) : path);

/**
 * Paths must stay inside the target folder, on every operating system. Undefined for a relative path without empty, `.` or `..` segments, backslashes, drives and control characters.
 */
export function findPathError(path: string, { pathBytes }: Pick<ArchiveLimits, 'pathBytes'>): PathError | undefined {
  if (utf8.encode(path).length > pathBytes) return 'path_too_long';
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  const isUnsafe = /[\\:\u0000-\u001f\u007f]/.test(path) || !path.isWellFormed();
  return isUnsafe || path.split('/').some((step) => step === '' || step === '.' || step === '..') ? 'path_unsafe' : undefined;
}

export interface ArchiveFinding {
  readonly code: 'file_missing' | 'file_unexpected' | 'file_size_differs' | 'file_digest_differs';
  readonly message: string;
  readonly path: string;
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/**
 * Checks that an archive contains exactly the files of its manifest. Findings are in the order of the manifest, then of files that it
 * does not list; none: the archive matches.
 */
export function validateArchive(
  files: ReadonlyMap<string, Uint8Array>,
  manifestFiles: readonly ManifestFile[],
): readonly ArchiveFinding[] {
  const manifestPaths = new Set(manifestFiles.map(({ path }) => path));
  const mismatches = manifestFiles.flatMap(({ path, bytes, sha256: digest }): readonly ArchiveFinding[] => {
    const content = files.get(path);
    if (content === undefined)
      return [{ code: 'file_missing', message: 'the manifest lists the file, and the archive does not contain it', path }];
    if (content.byteLength !== bytes) {
      const message = `the manifest says ${bytes} bytes, and the file has ${content.byteLength}`;
      return [{ code: 'file_size_differs', message, path }];
    }
    const found = sha256(content);
    if (found === digest) return [];
    return [{ code: 'file_digest_differs', message: `its SHA-256 is ${found}`, path }];
  });
  const unexpected = [...files.keys()]
    .filter((path) => !manifestPaths.has(path))
    .map((path): ArchiveFinding => ({ code: 'file_unexpected', message: 'the manifest does not list the file', path }));
  return [...mismatches, ...unexpected];
}
