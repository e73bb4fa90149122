/** Checks that an archive contains exactly the files of its manifest. */
import { createHash } from 'node:crypto';
import type { ManifestFile } from '../ports/deployments.ts';

export interface ArchiveFinding {
  readonly code: 'file_missing' | 'file_unexpected' | 'file_size_differs' | 'file_digest_differs';
  readonly message: string;
  readonly path: string;
}

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Findings in the order of the manifest, then files that it does not list; none: the archive matches. */
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
