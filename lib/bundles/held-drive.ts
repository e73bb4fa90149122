/** One drive on a thread, seen from this process: what it asks for is parsed and handed to the host, one thing at a time. */
import type { History, TurnAnswer } from '../engine/durable/turn.ts';
import type { JsonValue } from '../engine/json.ts';
import type { DurationMs } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import type { Drive, DriveEnd, DriveHost, DriveTask } from '../ports/programs.ts';
import { BodiesAtWork, type BodyAtWork } from './bodies-at-work.ts';
import { type PrintedLines, printedLines } from './printed-lines.ts';
import type { ToProgram, fromProgram } from './program-messages.ts';
import { type Told, driveEndIn, sendingIn, turnIn } from './turn-message.ts';
import type * as z from 'zod';

/** What it needs of the thread that it is on. */
interface OnThread {
  readonly clock: Clock;
  readonly killMs: DurationMs;
  readonly say: (message: ToProgram) => void;
  readonly print: (stream: 'stdout' | 'stderr', text: string) => void;
  readonly endThread: () => Promise<void>;
  readonly over: () => void;
}

type Asked = Extract<z.output<typeof fromProgram>, { kind: 'turn' | 'perform' | 'ended' }>;

export class HeldDrive implements Drive {
  readonly id: number;
  readonly ended: Promise<DriveEnd>;
  readonly lines: Readonly<Record<'stdout' | 'stderr', PrintedLines>>;
  readonly #resolve: (end: DriveEnd) => void;
  readonly #host: DriveHost;
  readonly #thread: OnThread;
  readonly #bodies: BodiesAtWork;
  #isTurning = false;
  #isOver = false;

  constructor(id: number, { history }: DriveTask, host: DriveHost, thread: OnThread) {
    this.id = id;
    this.#host = host;
    this.#thread = thread;
    this.#bodies = new BodiesAtWork(history.open);
    const { promise, resolve } = Promise.withResolvers<DriveEnd>();
    this.ended = promise;
    this.#resolve = resolve;
    const lines = (stream: 'stdout' | 'stderr'): PrintedLines => printedLines((text) => thread.print(stream, text));
    this.lines = { stdout: lines('stdout'), stderr: lines('stderr') };
  }

  get running(): readonly BodyAtWork[] {
    return this.#bodies.at(this.#thread.clock.now());
  }

  overtake(history: History<JsonValue>): void {
    this.#say({ kind: 'overtake', drive: this.id, history });
  }

  cancel(reason: string): void {
    this.#say({ kind: 'cancel', drive: this.id, reason });
  }

  handOn(): void {
    this.#say({ kind: 'hand_on', drive: this.id });
  }

  /** A body that is at work cannot be ended but with its thread; nor can code that does not let go of it. */
  async kill(message: string): Promise<void> {
    if (this.#isOver) return;
    const { running } = this;
    this.#say({ kind: 'kill', drive: this.id, message });
    const { promise, resolve } = Promise.withResolvers<'silent'>();
    const timer = setTimeout(() => resolve('silent'), this.#thread.killMs);
    const answer = running.length > 0 ? 'silent' : await Promise.race([this.ended, promise]);
    clearTimeout(timer);
    this.settle({ kind: 'timed_out', message, running });
    if (answer === 'silent') await this.#thread.endThread();
  }

  settle(end: DriveEnd): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const lines of Object.values(this.lines)) lines.flush();
    this.#thread.over();
    this.#resolve(end);
  }

  hear(asked: Asked): void {
    if (this.#isOver) return;
    if (asked.kind === 'ended') return this.#take('its end', driveEndIn(asked.end), (end) => this.settle(end));
    if (asked.kind === 'turn') return this.#take('a turn', turnIn(asked.turn), (turn) => void this.#turn(turn));
    this.#take('a command', sendingIn(asked.command), (command) => void this.#perform(asked.call, command));
  }

  #say(message: ToProgram): void {
    if (!this.#isOver) this.#thread.say(message);
  }

  #take<Value>(what: string, told: Told<Value>, take: (value: Value) => void): void {
    if (told.kind === 'told') take(told.value);
    else void this.#break(`what the code’s thread told as ${what} ${told.why}`);
  }

  async #break(message: string): Promise<void> {
    this.settle({ kind: 'crashed', message, running: this.running });
    await this.#thread.endThread();
  }

  async #turn(turn: Parameters<DriveHost['turn']>[0]): Promise<void> {
    if (this.#isTurning) return this.#break('the code’s thread asked for two turns at once');
    this.#isTurning = true;
    let answer: TurnAnswer;
    try {
      answer = await this.#host.turn(turn);
    } catch {
      // The host has trouble of its own, of which it knows: nothing more is to be done for it.
      answer = { kind: 'stop' };
    }
    this.#isTurning = false;
    if (answer.kind === 'committed') this.#bodies.note(turn);
    this.#say({ kind: 'answered', drive: this.id, answer });
  }

  async #perform(call: number, command: Parameters<DriveHost['perform']>[0]): Promise<void> {
    try {
      this.#say({ kind: 'performed', drive: this.id, call, result: await this.#host.perform(command) });
    } catch {
      this.#say({ kind: 'not_performed', drive: this.id, call });
    }
  }
}
