/** The state folder is its owner's alone: keys, secrets and everything that runs were given lie in it. */
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { SettingsError } from './settings.ts';

const groupAndOtherBits = 0o077;
const groupOrOtherWriteBits = 0o022;

/** Makes the folder, or takes the rights of others away. A folder that others write to is not one to be taken. */
export function ensurePrivateFolder(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(directory);
  if (uid !== process.getuid?.())
    throw new SettingsError(`The state folder ${directory} belongs to another user: name another one in STEPWELL_DIR`);
  if ((mode & groupOrOtherWriteBits) !== 0)
    throw new SettingsError(
      `Other users may write to the state folder ${directory}: run chmod 700, or name another one in STEPWELL_DIR`,
    );
  if ((mode & groupAndOtherBits) !== 0) chmodSync(directory, 0o700);
}
