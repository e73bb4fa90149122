/** Packs files reproducibly: sorted, without times and owners, so equal files give equal bytes on every machine. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { pack } from 'tar-stream';
import type { ManifestFile } from '../ports/deployments.ts';
import { sha256 } from './archive-rules.ts';

export interface PackedArchive {
  readonly archive: Uint8Array;
  /** as in a manifest's file list */
  readonly files: readonly ManifestFile[];
  readonly artifact: { readonly sha256: string; readonly bytes: number };
}

const compress = promisify(gzip);
/** The gzip header byte for the operating system, and its value "unknown": RFC 1952, 2.3. */
const systemAt = 9;
const unknownSystem = 255;

/** @param files by their paths: relative, with forward slashes */
export async function packArchive(files: ReadonlyMap<string, Uint8Array>): Promise<PackedArchive> {
  // By code units, independent of the machine's locale.
  const sorted = [...files].toSorted(([one], [other]) => (one < other ? -1 : 1));
  const tar = pack();
  for (const [name, content] of sorted) {
    tar.entry({ name, mode: 0o644, uid: 0, gid: 0, mtime: new Date(0), type: 'file' }, Buffer.from(content));
  }
  tar.finalize();
  const parts: Uint8Array[] = [];
  for await (const part of tar) if (part instanceof Uint8Array) parts.push(part);
  const archive = await compress(Buffer.concat(parts), { level: 9 });
  archive.writeUInt8(unknownSystem, systemAt);
  return {
    archive,
    files: sorted.map(([path, content]) => ({ path, sha256: sha256(content), bytes: content.byteLength })),
    artifact: { sha256: sha256(archive), bytes: archive.byteLength },
  };
}
