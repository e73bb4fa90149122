/** `npm start` in a separate process, with its own folder and port. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import * as z from 'zod';

export const root = fileURLToPath(new URL('../..', import.meta.url));
export const freshFolder = (): string => mkdtempSync(join(tmpdir(), 'stepwell-e2e-'));

/** A state folder with the synthesis of this test run: a start on it synthesizes only with other settings. */
export function preparedFolder(directory = freshFolder()): string {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const ready = inject('synthesis');
  for (const name of ['cloud-assembly', 'cache']) symlinkSync(join(ready, name), join(directory, name));
  copyFileSync(join(ready, 'cloud-assembly.sha256'), join(directory, 'cloud-assembly.sha256'));
  return directory;
}

const infoShape = z.object({ url: z.string(), apiKey: z.string(), pid: z.number() });

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

export interface LocalStart {
  readonly url: string;
  readonly apiKey: string;
  readonly pid: number;
  /** what it has printed so far */
  printed(): string;
  /** `body` is sent as JSON; text is sent unchanged. */
  call(method: string, path: string, body?: unknown, headers?: Readonly<Record<string, string>>): Promise<Answer>;
  /** Sends the signal and waits until the process has exited. */
  end(signal: NodeJS.Signals): Promise<number | null>;
}

const cloud = ['lib/local/main.ts'] as const;
/** What `npm start` runs. It has the cloud in a process of its own, so the folder must be new: its old address is not told apart. */
export const npmStart = ['lib/cli/main.ts', 'start'] as const;

/** Starts and waits for the URL. Rejects with the output when the process exits before. @param settings replace those of the tests */
export async function startLocal(
  directory: string,
  program: typeof cloud | typeof npmStart = cloud,
  settings: Readonly<Record<string, string>> = {},
): Promise<LocalStart> {
  const child = spawn(process.execPath, program, {
    cwd: root,
    env: { ...process.env, STEPWELL_DIR: directory, STEPWELL_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let printed = '';
  child.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const gone = once(child, 'exit');
  const infoFile = join(directory, 'local.json');
  const said = (): z.infer<typeof infoShape> | undefined => {
    let text: string;
    try {
      text = readFileSync(infoFile, 'utf8');
    } catch {
      // Not written yet, or the file of the previous start, which was just deleted.
      return undefined;
    }
    const info = infoShape.parse(JSON.parse(text));
    return program === npmStart || info.pid === child.pid ? info : undefined;
  };
  let info = said();
  for (; info === undefined; info = said()) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(printed);
    await wait(20);
  }
  const { url, apiKey, pid } = info;
  return {
    url,
    apiKey,
    pid,
    printed: () => printed,
    async call(method, path, body, headers = {}) {
      const response = await fetch(`${url}${path}`, {
        method,
        headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json', ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) };
    },
    async end(signal) {
      child.kill(signal);
      await gone;
      return child.exitCode;
    },
  };
}
