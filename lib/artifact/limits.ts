/** Limits of an artifact. docs/LIMITS.md has the reasons. */
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
