/**
 * Reads an untrusted gzip-compressed tar archive. Writes no files, follows no links, and stops at the limits before it unpacks
 * more.
 */
import { defined } from '../base/defined.ts';
import { promisify } from 'node:util';
import { gunzip } from 'node:zlib';
import { type Header, extract } from 'tar-stream';
import { type ArchiveLimits, findPathError, withoutDot, archiveLimits } from './archive-rules.ts';

type ArchiveErrorCode =
  | 'archive_too_large'
  | 'not_gzip'
  | 'truncated'
  | 'not_tar'
  | 'unpacked_too_large'
  | 'too_many_entries'
  | 'path_unsafe'
  | 'path_too_long'
  | 'entry_not_file'
  | 'duplicate_path';

interface ArchiveRefusal {
  readonly kind: 'refused';
  readonly code: ArchiveErrorCode;
  readonly message: string;
  /** the refused entry's path, as in the archive */
  readonly path?: string;
}

export type ReadArchiveResult =
  | {
      readonly kind: 'read';
      /** by path, in the order of the archive */
      readonly files: ReadonlyMap<string, Uint8Array>;
    }
  | ArchiveRefusal;

const refused = (code: ArchiveErrorCode, message: string, path?: string): ArchiveRefusal =>
  defined({
    kind: 'refused',
    code,
    message,
    path,
  });

/** Returns a refusal for any invalid bytes; never throws for them. */
export async function readArchive(bytes: Uint8Array, limits: ArchiveLimits = archiveLimits): Promise<ReadArchiveResult> {
  if (bytes.byteLength > limits.archiveBytes) {
    return refused('archive_too_large', `the archive is larger than ${limits.archiveBytes} bytes`);
  }
  const tar = await unzipped(bytes, limits);
  return 'kind' in tar ? tar : readTar(tar, limits);
}

const unzip = promisify(gunzip);

async function unzipped(bytes: Uint8Array, { unpackedBytes }: ArchiveLimits): Promise<Buffer | ArchiveRefusal> {
  try {
    return await unzip(bytes, { maxOutputLength: unpackedBytes });
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined;
    if (code === 'ERR_BUFFER_TOO_LARGE') return refused('unpacked_too_large', `it unpacks to more than ${unpackedBytes} bytes`);
    return code === 'Z_BUF_ERROR'
      ? refused('truncated', 'the archive is incomplete')
      : refused('not_gzip', 'the archive is not gzip, or is damaged');
  }
}

async function readTar(tar: Buffer, limits: ArchiveLimits): Promise<ReadArchiveResult> {
  const files = new Map<string, Uint8Array>();
  const reader = extract();
  reader.end(tar);
  let entries = 0;
  try {
    for await (const entry of reader) {
      entries += 1;
      if (entries > limits.entries) return refused('too_many_entries', `more than ${limits.entries} entries`);
      const problem = findEntryError(entry.header, files, limits);
      if (problem !== undefined) return problem;
      const parts: Uint8Array[] = [];
      for await (const part of entry) if (part instanceof Uint8Array) parts.push(part);
      if (entry.header.type === 'file') files.set(withoutDot(entry.header.name), joined(parts));
    }
  } catch (error) {
    const isTruncated = error instanceof Error && /end of data/i.test(error.message);
    return isTruncated
      ? refused('truncated', 'the archive is incomplete')
      : refused('not_tar', 'the decompressed content is not a tar archive');
  } finally {
    reader.destroy();
  }
  return findFileFolderConflict(files) ?? { kind: 'read', files };
}

const joined = (parts: readonly Uint8Array[]): Uint8Array => (parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts));

function findEntryError(
  { name, type }: Header,
  files: ReadonlyMap<string, unknown>,
  limits: ArchiveLimits,
): ArchiveRefusal | undefined {
  const path = withoutDot(name);
  // The entry of the packed folder itself.
  if (type === 'directory' && (path === '' || path === '.')) return undefined;
  const problem = findPathError(type === 'directory' ? path.replace(/\/$/, '') : path, limits);
  if (problem === 'path_too_long')
    return refused(problem, `a path is longer than ${limits.pathBytes} bytes`, name.slice(0, limits.pathBytes));
  if (problem !== undefined) return refused(problem, 'a path leads outside the archive', name);
  if (type === 'directory') return undefined;
  if (type !== 'file')
    return refused('entry_not_file', 'an archive may contain only files and folders, no links or devices', name);
  return files.has(path) ? refused('duplicate_path', 'two entries have the same path', name) : undefined;
}

/** A path may not be both a file and a folder. */
function findFileFolderConflict(files: ReadonlyMap<string, unknown>): ArchiveRefusal | undefined {
  for (const path of files.keys()) {
    const steps = path.split('/');
    for (let count = 1; count < steps.length; count += 1) {
      const parentPath = steps.slice(0, count).join('/');
      if (files.has(parentPath)) return refused('duplicate_path', 'a path is both a file and a folder', parentPath);
    }
  }
  return undefined;
}
