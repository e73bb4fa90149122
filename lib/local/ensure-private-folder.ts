/** Only the owner may read the state folder: it contains keys, secrets and the inputs of runs. */
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { SettingsError } from './settings.ts';

const groupAndOtherBits = 0o077;
const groupOrOtherWriteBits = 0o022;

/** Creates the folder, or removes the permissions of other users. Refuses a folder that other users may write to. */
export function ensurePrivateFolder(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(directory);
  if (uid !== process.getuid?.())
    throw new SettingsError(`The state folder ${directory} belongs to another user: set STEPWELL_DIR to a folder of your own`);
  if ((mode & groupOrOtherWriteBits) !== 0)
    throw new SettingsError(
      `Other users may write to the state folder ${directory}: run chmod 700 on it, or set STEPWELL_DIR to another folder`,
    );
  if ((mode & groupAndOtherBits) !== 0) chmodSync(directory, 0o700);
}
