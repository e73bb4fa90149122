/** One thread with a deployment of code: several runs may be driven on it at once, and all of that ends when it does. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { DurationMs } from '../engine/time.ts';
import { wordsOf } from '../engine/words-of.ts';
import type { Clock } from '../ports/clock.ts';
import { type Drive, type DriveEnd, type DriveHost, type DriveTask, programPath } from '../ports/programs.ts';
import { answerLimits } from './answer-limits.ts';
import type { ThreadSettings } from './bundle-thread.ts';
import { HeldDrive } from './held-drive.ts';
import { type PrintedLines, printedLines } from './printed-lines.ts';
import { type ProgramThreadData, type ToProgram, fromProgram } from './program-messages.ts';
import { environmentOf } from './thread-environment.ts';
import type { HeldThread } from './thread-places.ts';

export interface ProgramThreadSettings extends ThreadSettings {
  readonly clock: Clock;
  /** what runs inside */
  readonly file: URL;
  /** for the import of the module: one that waits for ever while it loads is no better the next time */
  readonly importMs: DurationMs;
  /** how long a drive that is ended may take to say so, before the thread ends with it */
  readonly killMs: DurationMs;
}

const endedForAnother = 'its thread was ended because of another run on it';

export class ProgramThread implements HeldThread {
  readonly #worker: Worker;
  readonly #settings: ProgramThreadSettings;
  readonly #drives = new Map<number, HeldDrive>();
  /** what was said before the module was imported */
  readonly #unsaid: ToProgram[] = [];
  /** what is printed by no drive's code, such as while the module is imported */
  readonly #lines: Readonly<Record<'stdout' | 'stderr', PrintedLines>>;
  readonly #importTimer: NodeJS.Timeout;
  #lastId = 0;
  #hasLoaded = false;
  #isAlive = true;
  /** whose code broke the thread, where it is known */
  #breaker: number | undefined;

  constructor(settings: ProgramThreadSettings) {
    this.#settings = settings;
    const { deploymentId, folder, importMs, memoryMb, print, variables } = settings;
    const workerData: ProgramThreadData = { deploymentId, program: pathToFileURL(join(folder, programPath)).href };
    this.#worker = new Worker(settings.file, {
      workerData,
      env: environmentOf(deploymentId, variables),
      execArgv: [],
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
      name: `deployment ${deploymentId}`,
    });
    const lines = (stream: 'stdout' | 'stderr'): PrintedLines => printedLines((text) => print({ deploymentId, stream, text }));
    this.#lines = { stdout: lines('stdout'), stderr: lines('stderr') };
    this.#worker.on('message', (message: unknown) => this.#hear(message));
    let broke: string | undefined;
    this.#worker.on('error', (error: unknown) => {
      this.#isAlive = false;
      broke = `the code broke its thread: ${described(error)}`;
    });
    this.#worker.on('exit', (code) => this.#abandon(broke ?? `the code ended its thread with code ${code}`));
    this.#worker.unref();
    this.#importTimer = setTimeout(() => this.#giveUpLoading(`the module was not imported within ${importMs} ms`), importMs);
    this.#importTimer.unref();
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** @param lent variables that have changed since the thread began: credentials end */
  begin(task: DriveTask, host: DriveHost, lent: Readonly<Record<string, string>>): Drive {
    this.#lastId += 1;
    const id = this.#lastId;
    const { deploymentId, clock, killMs, print } = this.#settings;
    const held = new HeldDrive(id, task, host, {
      clock,
      killMs,
      say: (message) => this.#say(message),
      print: (stream, text) => print({ deploymentId, runId: task.run.runId, stream, text }),
      endThread: () => {
        this.#breaker = id;
        return this.end();
      },
      over: () => {
        this.#drives.delete(id);
        if (this.#drives.size === 0) this.#worker.unref();
      },
    });
    if (!this.#isAlive) held.settle({ kind: 'crashed', message: 'its thread ended before it', running: [] });
    else {
      this.#drives.set(id, held);
      this.#worker.ref();
      this.#say({ kind: 'begin', drive: id, task, lent });
    }
    return held;
  }

  async end(): Promise<void> {
    this.#abandon('its thread was ended');
    await this.#worker.terminate();
  }

  #say(message: ToProgram): void {
    if (this.#hasLoaded) this.#worker.postMessage(message);
    else this.#unsaid.push(message);
  }

  #hear(said: unknown): void {
    const { data: message } = fromProgram.safeParse(said);
    // The author's code can write to the same port: what is no message of the protocol is nothing.
    if (message === undefined) return;
    if (message.kind === 'loaded') return this.#load();
    if (message.kind === 'unloadable') return this.#giveUpLoading(message.message);
    if (message.kind === 'breaking') return void (this.#breaker = message.drive);
    const drive = message.drive === undefined ? undefined : this.#drives.get(message.drive);
    if (message.kind === 'printed') return (drive?.lines ?? this.#lines)[message.stream].add(message.text);
    drive?.hear(message);
  }

  #load(): void {
    clearTimeout(this.#importTimer);
    this.#hasLoaded = true;
    for (const lines of Object.values(this.#lines)) lines.flush();
    for (const message of this.#unsaid.splice(0)) this.#worker.postMessage(message);
  }

  /** A module that could not be imported stays so on its thread. */
  #giveUpLoading(message: string): void {
    if (this.#hasLoaded || !this.#isAlive) return;
    this.#settleAll(() => ({ kind: 'unloadable', message }));
    void this.end();
  }

  #abandon(why: string): void {
    this.#isAlive = false;
    clearTimeout(this.#importTimer);
    const isKnown = this.#breaker !== undefined;
    this.#settleAll((drive) => {
      if (!this.#hasLoaded) return { kind: 'unloadable', message: why };
      // Whoever did not break it has lost its bodies and is not to blame. Where it is not known who did, all are.
      if (isKnown && drive.id !== this.#breaker) return { kind: 'crashed', message: endedForAnother, running: [] };
      return { kind: 'crashed', message: why, running: drive.running };
    });
    for (const lines of Object.values(this.#lines)) lines.flush();
  }

  #settleAll(endOf: (drive: HeldDrive) => DriveEnd): void {
    const ends = [...this.#drives.values()].map((drive) => [drive, endOf(drive)] as const);
    for (const [drive, end] of ends) drive.settle(end);
  }
}

const described = (error: unknown): string => wordsOf(error).slice(0, answerLimits.message);
