/** A Postgres of this machine, for the SDK's own World of Postgres: a database in a temporary folder, which ends with the bench. */
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { chmodSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';

export interface Postgres {
  readonly url: string;
  stop(): Promise<void>;
}

const startTimeoutMs = 20_000;
const pollMs = 100;

/** Debian keeps the programs of each version in a folder of its own. */
const findPrograms = (): string | undefined => globSync('/usr/lib/postgresql/*/bin/initdb').toSorted().at(-1);

/** Postgres refuses to run as root. */
function unprivileged(): { readonly uid?: number; readonly gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** @returns undefined if this machine has no Postgres. PGlite is no substitute: it has one session, and the World needs several. */
export async function startPostgres(port: number): Promise<Postgres | undefined> {
  const initdb = findPrograms();
  if (initdb === undefined) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'bench-postgres-'));
  // Its user is another one than that of the bench.
  chmodSync(folder, 0o777);
  const user = unprivileged();
  const data = join(folder, 'data');
  await promisify(execFile)(initdb, ['-D', data, '-U', 'bench', '-A', 'trust'], user);
  const parameters = ['-D', data, '-p', String(port), '-k', folder, '-h', '127.0.0.1'];
  const server = spawn(join(dirname(initdb), 'postgres'), parameters, { ...user, stdio: 'ignore' });
  const url = `postgres://bench@127.0.0.1:${port}/postgres`;
  await untilReady(server, join(dirname(initdb), 'pg_isready'), url);
  return {
    url,
    async stop() {
      const ended = new Promise((resolve) => void server.once('exit', resolve));
      server.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(server: ChildProcess, isReady: string, url: string): Promise<void> {
  const until = performance.now() + startTimeoutMs;
  while (performance.now() < until && server.exitCode === null) {
    try {
      await promisify(execFile)(isReady, ['-d', url]);
      return;
    } catch {
      await wait(pollMs);
    }
  }
  server.kill('SIGKILL');
  throw new Error('Postgres did not start');
}
