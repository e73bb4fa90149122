/** `npm start` in a separate process group that a test can kill: all processes including emulators, or one function's thread. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { type ControlRequest, type ControlResponse, startVariables } from './cloud-control.ts';

export const root = fileURLToPath(new URL('../../..', import.meta.url));
const inside = new URL('./inside.ts', import.meta.url).href;

const addressShape = z.object({
  url: z.string(),
  apiKey: z.string(),
  tables: z.object({ url: z.string(), accessKeyId: z.string(), secretAccessKey: z.string() }),
  pid: z.number(),
});
export type CloudAddress = Pick<z.output<typeof addressShape>, 'url' | 'apiKey' | 'tables'>;

const emulatorShape = z.object({ pid: z.number() });

export interface KillableCloud {
  /** The address after the start. Rejects where the process exits before. */
  readonly started: Promise<CloudAddress>;
  /** Kills the process, its group, and the emulator in its separate group with SIGKILL. */
  kill(): Promise<void>;
  /** Ends a function's thread during an invocation. @returns the function; undefined where none ran in time */
  killThread(rank: number, afterMs: number, timeoutMs: number): Promise<string | undefined>;
  /** Moves the clock forward, as after a sleep of the machine. */
  moveClock(byMs: number): Promise<void>;
  /** The running functions. */
  atWork(): Promise<readonly string[]>;
  /** Stops it as Ctrl-C does. */
  stop(): Promise<void>;
}

/** How long the answer to a request may take on a busy machine. */
const answerMs = 10_000;

let asked = 0;

/** @param aheadMs how far its clock is ahead of the machine's, which simulates the time that it was off */
export function startKillableCloud(
  directory: string,
  options: { readonly aheadMs: number; readonly effectServerPort: number },
): KillableCloud {
  const child = spawn(process.execPath, ['--no-warnings', '--import', inside, 'lib/local/main.ts'], {
    cwd: root,
    detached: true,
    env: {
      ...process.env,
      STEPWELL_DIR: directory,
      STEPWELL_PORT: '0',
      // Each thread takes time to start.
      STEPWELL_THREADS: '2',
      [startVariables.aheadMs]: String(options.aheadMs),
      [startVariables.effectServerPort]: String(options.effectServerPort),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let printed = '';
  const hear = (chunk: Buffer): void => void (printed = `${printed}${chunk.toString()}`.slice(-5_000));
  child.stdout?.on('data', hear);
  child.stderr?.on('data', hear);
  const gone = once(child, 'exit');
  let isWanted = true;
  const started = placeOf(child, directory, () => (isWanted ? printed : 'it was killed as it started'));
  // A caller that kills it before it has started does not handle this rejection.
  started.catch(() => undefined);

  async function ask<Kind extends ControlResponse['kind']>(
    question: (id: number) => ControlRequest,
    kind: Kind,
    timeoutMs: number,
  ): Promise<Extract<ControlResponse, { kind: Kind }> | undefined> {
    const id = (asked += 1);
    const stop = new AbortController();
    const answered = new Promise<Extract<ControlResponse, { kind: Kind }>>((resolve) => {
      const listen = (told: ControlResponse): void => {
        if (isAnswer(told, kind) && told.id === id) resolve(told);
      };
      child.on('message', listen);
      stop.signal.addEventListener('abort', () => child.off('message', listen));
    });
    try {
      child.send(question(id));
      return await Promise.race([
        answered,
        wait(timeoutMs, undefined, { signal: stop.signal }).catch(() => undefined),
        gone.then(() => undefined),
      ]);
    } finally {
      stop.abort();
    }
  }

  return {
    started,
    async kill() {
      isWanted = false;
      const emulator = emulatorIn(directory);
      endGroup(child.pid);
      endGroup(emulator);
      await gone;
      while (emulator !== undefined && isAlive(emulator)) await wait(2);
    },
    async killThread(rank, afterMs, timeoutMs) {
      const told = await ask(
        (id) => ({ kind: 'end-thread', id, rank, afterMs, withinMs: timeoutMs }),
        'thread-ended',
        timeoutMs + answerMs,
      );
      return told?.name;
    },
    async moveClock(byMs) {
      const told = await ask((id) => ({ kind: 'move-clock', id, byMs }), 'clock-moved', answerMs);
      if (told === undefined) throw new Error(`it did not move its clock: ${printed}`);
    },
    async atWork() {
      const told = await ask((id) => ({ kind: 'list-active', id }), 'active', answerMs);
      if (told === undefined) throw new Error(`it did not report the running functions: ${printed}`);
      return told.names;
    },
    async stop() {
      isWanted = false;
      child.kill('SIGTERM');
      await gone;
    },
  };
}

const isAnswer = <Kind extends ControlResponse['kind']>(
  told: ControlResponse,
  kind: Kind,
): told is Extract<ControlResponse, { kind: Kind }> => told.kind === kind;

async function placeOf(child: ChildProcess, directory: string, printed: () => string): Promise<CloudAddress> {
  const file = join(directory, 'local.json');
  for (;;) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`the cloud has exited: ${printed()}`);
    const found = existsSync(file) ? addressShape.safeParse(readJson(file)) : undefined;
    // The file may be of the previous start, which this start will delete.
    if (found?.success === true && found.data.pid === child.pid) return found.data;
    await wait(5);
  }
}

/** DynamoDB's emulator is detached from Ctrl-C. A power failure would end it too. */
function emulatorIn(directory: string): number | undefined {
  const found = emulatorShape.safeParse(readJson(join(directory, 'state', 'dynoxide.pid')));
  return found.success && isEmulator(found.data.pid, directory) ? found.data.pid : undefined;
}

/** Process ids are reused: only a process with this database's path in its arguments is killed. */
function isEmulator(pid: number, directory: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(directory);
  } catch {
    return false;
  }
}

function readJson(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // it has exited
  }
}

/** A dead process without a waiting parent remains as a zombie for a while. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
