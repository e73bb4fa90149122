/** How much an artifact may hold. docs/LIMITS.md has the reasons. */
export interface ArchiveLimits {
  /** the archive as it is uploaded, in bytes */
  readonly archiveBytes: number;
  /** what comes out of it, the archive's own headers included, in bytes */
  readonly unpackedBytes: number;
  readonly entries: number;
  /** of one path, in bytes of UTF-8 */
  readonly pathBytes: number;
}

const mebibyte = 1_048_576;

export const archiveLimits: ArchiveLimits = {
  archiveBytes: 50 * mebibyte,
  unpackedBytes: 200 * mebibyte,
  entries: 2_000,
  pathBytes: 512,
};
