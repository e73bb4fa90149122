/** One folder holds everything that the tests of a run write. It is deleted at the end of the run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export default function openTemporaryFolder(): () => void {
  const folder = mkdtempSync(join(tmpdir(), 'stepwell-test-'));
  // What every `os.tmpdir()` of this process and its workers answers from now on.
  process.env['TMPDIR'] = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
