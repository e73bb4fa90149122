/** What the owner of the machine may set. Everything else follows from the template. */
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { limits } from './lambda/limits.ts';

export interface Settings {
  /** the checkout: where bin/, lib/ and functions/ are */
  readonly root: string;
  /** where state lives between starts */
  readonly directory: string;
  /** the first port to try for the public API; 0: any free one */
  readonly port: number;
  /** how many threads one function may have at most, where its template reserves no number of its own */
  readonly threads: number;
  /** the account's quota of concurrent executions, against which the template's reservations are held */
  readonly accountConcurrency: number;
  /** origins of other pages that may use the API and open sockets, such as an application's own on this machine */
  readonly origins: readonly string[];
}

const parseNumber = (name: string, text: string | undefined, defaultValue: number, max: number): number => {
  if (text === undefined || text === '') return defaultValue;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0 || value > max) {
    throw new SettingsError(`${name} must be a whole number from 0 to ${max}, and is '${text}'`);
  }
  return value;
};

/** Threads mostly wait for the emulators; more of them only take each other's time, and each takes 60 MB. */
const defaultThreads = (): number => Math.min(8, Math.max(4, availableParallelism()));

const parseOrigins = (text: string | undefined): readonly string[] =>
  (text ?? '')
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '')
    .map((part) => {
      const url = URL.parse(part);
      if (url !== null && /^https?:$/.test(url.protocol) && url.origin === part) return part;
      throw new SettingsError(
        `STEPWELL_ORIGINS must be origins such as http://localhost:5173 with commas between, and has '${part}'`,
      );
    });

/** The owner's mistake, said in one line. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

export function readSettings(env: NodeJS.ProcessEnv, cwd: string): Settings {
  return {
    root: fileURLToPath(new URL('../..', import.meta.url)),
    directory: resolve(cwd, env['STEPWELL_DIR'] || '.stepwell'),
    port: parseNumber('STEPWELL_PORT', env['STEPWELL_PORT'], 4700, 65_535),
    threads: Math.max(1, parseNumber('STEPWELL_THREADS', env['STEPWELL_THREADS'], defaultThreads(), 256)),
    accountConcurrency: parseNumber(
      'STEPWELL_ACCOUNT_CONCURRENCY',
      env['STEPWELL_ACCOUNT_CONCURRENCY'],
      limits.accountConcurrency,
      1_000_000,
    ),
    origins: parseOrigins(env['STEPWELL_ORIGINS']),
  };
}
