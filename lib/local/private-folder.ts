/** The state folder is its owner's alone: keys, secrets and everything that runs were given lie in it. */
import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { SettingsFault } from './settings.ts';

const rightsOfOthers = 0o077;
const mayWrite = 0o022;

/** Makes the folder, or takes the rights of others away. A folder that others write to is not one to be taken. */
export function privateFolder(directory: string): void {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const { uid, mode } = statSync(directory);
  if (uid !== process.getuid?.())
    throw new SettingsFault(`The state folder ${directory} belongs to another user: name another one in STEPWELL_DIR`);
  if ((mode & mayWrite) !== 0)
    throw new SettingsFault(
      `Other users may write to the state folder ${directory}: run chmod 700, or name another one in STEPWELL_DIR`,
    );
  if ((mode & rightsOfOthers) !== 0) chmodSync(directory, 0o700);
}
