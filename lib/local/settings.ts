/** The settings of the embedded cloud, from environment variables. Everything else follows from the template. */
import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { lambdaLimits } from './limits.ts';
import { type CdkApp, checkoutApp, packagedApp } from './synth/cdk-app.ts';

export interface Settings {
  /** makes the template */
  readonly app: CdkApp;
  /** the state folder, which outlives a start */
  readonly directory: string;
  /** the first port to try for the public API; 0: any free one */
  readonly port: number;
  /** maximum threads per function, where its template reserves no concurrency */
  readonly threads: number;
  /** the account's quota of concurrent executions; the template's reservations are checked against it */
  readonly accountConcurrency: number;
  /** nodes and models may send requests to this machine: the setting `allowLocalhost` of the template */
  readonly allowsLocalhost: boolean;
  /** origins of other pages that may use the API and open sockets, such as a local development server */
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

/** Threads mostly wait for the emulators. More threads compete for the same processors, and each takes 50 MB. */
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
        `STEPWELL_ORIGINS must be comma-separated origins such as http://localhost:5173, and contains '${part}'`,
      );
    });

/** The owner's settings are invalid, or contradict the state folder. The message is printed without a stack. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError';
}

/** The package of the command line has this program beside the folder of this module; a checkout has the sources. */
function appOf(cwd: string): CdkApp {
  const program = fileURLToPath(new URL('../cloud-app.mjs', import.meta.url));
  return existsSync(program) ? packagedApp(program, cwd) : checkoutApp(fileURLToPath(new URL('../..', import.meta.url)));
}

export function readSettings(env: NodeJS.ProcessEnv, cwd: string): Settings {
  return {
    app: appOf(cwd),
    directory: resolve(cwd, env['STEPWELL_DIR'] || '.stepwell'),
    port: parseNumber('STEPWELL_PORT', env['STEPWELL_PORT'], 4700, 65_535),
    threads: Math.max(1, parseNumber('STEPWELL_THREADS', env['STEPWELL_THREADS'], defaultThreads(), 256)),
    accountConcurrency: parseNumber(
      'STEPWELL_ACCOUNT_CONCURRENCY',
      env['STEPWELL_ACCOUNT_CONCURRENCY'],
      lambdaLimits.accountConcurrency,
      1_000_000,
    ),
    allowsLocalhost: env['STEPWELL_ALLOW_LOCALHOST'] === 'true',
    origins: parseOrigins(env['STEPWELL_ORIGINS']),
  };
}
