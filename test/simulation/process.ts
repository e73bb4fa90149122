/**
 * A simulated process: one invocation that can crash at any port call, pause, and have its own clock. A crashed process never
 * gets the responses that it waits for, and the simulation continues. This module wraps every port, so that each call is an
 * event in virtual time at which a fault can happen.
 */
import type { Nonce, RunAddress } from '../../lib/engine/ids.ts';
import { type DurationMs, type Instant, instant } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import type { Faults } from './faults.ts';
import type { Prng } from './prng.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface SimulationContext {
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly faults: Faults;
}

/** Clocks of machines that are kept in step by their maker are within a second; these are worse. */
const mostWrongMs = 90_000;
const longestFreezeMs = 1_200_000;

/** Marks what a read gave that had a hole: it does not tell what was true at its time. */
export const torn = Symbol('torn');
const isTorn = (value: unknown): boolean => typeof value === 'object' && value !== null && torn in value;

/** A call's name begins with that of its port, and what is throttled is a port as a whole. */
const storeOf = (call: string): string => call.slice(0, call.indexOf('.'));

/** Without a stack: all of them start here, and taking a stack costs more than a call. */
function unavailable(what: string): Unavailable {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const trouble = new Unavailable(what);
  Error.stackTraceLimit = stackTraceLimit;
  return trouble;
}

/** What no death can keep from happening, and no fault from being answered. */
const untouched: ReadonlySet<string> = new Set(['clock', 'ids', 'settings', 'metrics']);

export class Process {
  isAlive = true;
  /** by run: when the last answer to a read of its log was true; whatever was committed later, it does not know of */
  readonly #readAt = new Map<string, number>();
  readonly #around: SimulationContext;
  #wrongMs: number;
  #frozenUntil = 0;
  /** the process has paused once */
  hasStood = false;
  /** when its function's time is over: it is ended then as Lambda does it, whatever it is at work on */
  endsAt = Infinity;
  /** Is called when it was. */
  onTimeout: () => void = () => {};
  /** Is called with each nonce that it draws: by that its commits are known. */
  onNonce: (nonce: Nonce) => void = () => {};
  /** Is called at each port call. */
  onCall: (name: string) => void = () => {};
  /** Is called when it dies, for what it has at work. */
  onDeath: () => void = () => {};

  constructor(around: SimulationContext) {
    this.#around = around;
    this.#wrongMs = around.faults.shouldInject('wrongClock') ? this.#someWrong() : 0;
  }

  die(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.onDeath();
  }

  #timeOut(): void {
    this.die();
    this.onTimeout();
  }

  #stand(ms: number): void {
    this.hasStood = true;
    this.#frozenUntil = this.#around.time.now + ms;
  }

  #someWrong(): number {
    return this.#around.prng.whole(-mostWrongMs, mostWrongMs);
  }

  now(): Instant {
    return instant(this.#around.time.now + this.#wrongMs);
  }

  /** Runs in the life of this process: not after its crash, and later if it is paused. */
  in(ms: number, happen: () => void): void {
    const { time } = this.#around;
    time.in(ms, () => {
      if (!this.isAlive) return;
      // Nothing is seen of its end before it would do something again.
      if (time.now >= this.endsAt) return this.#timeOut();
      if (time.now < this.#frozenUntil) this.in(this.#frozenUntil - time.now, happen);
      else happen();
    });
  }

  sleep(wait: DurationMs, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal?.aborted === true) return resolve();
      signal?.addEventListener('abort', () => resolve(), { once: true });
      this.in(wait, resolve);
    });
  }

  /** One port call: it takes a while, has its effect at one moment, and is answered later, unless a fault strikes. */
  /** @param onAnswer is told of an answer that came, and of the moment at which it was true */
  call<Answer>(
    effect: () => Promise<Answer>,
    name: string,
    onAnswer: (answer: Answer, at: number) => void = () => {},
  ): Promise<Answer> {
    const { time, prng, faults } = this.#around;
    return new Promise((resolve, reject) => {
      if (!this.isAlive) return;
      this.onCall(name);
      faults.called(name);
      if (faults.shouldInject('crashBefore')) return this.die();
      const isRefused = faults.throttles(storeOf(name), time.now) || faults.shouldInject('refused');
      // A refused request has no effect before which the process could crash, and no response to lose.
      const diesAfter = faults.isScheduled('crashAfter') && !isRefused;
      const isAnswerLost = faults.isScheduled('lostAnswer') && !isRefused;
      if (faults.shouldInject('clockJump')) this.#wrongMs = this.#someWrong();
      if (faults.shouldInject('frozen')) this.#stand(prng.whole(1_000, longestFreezeMs));
      const latencyMs = faults.shouldInject('slow') ? prng.whole(1_000, 20_000) : prng.whole(1, 12);
      const answer = (settle: () => void): void => this.in(prng.whole(0, 4), settle);
      // A request that is on its way arrives, whatever becomes of its sender.
      time.in(latencyMs, () => {
        if (isRefused) return answer(() => reject(unavailable(name)));
        const effectiveAt = time.now;
        const answered = (settle: () => void): void => {
          if (!diesAfter) return answer(settle);
          if (!this.isAlive) return;
          faults.recordInjected('crashAfter');
          this.die();
        };
        effect().then(
          (value) =>
            answered(() => {
              if (isAnswerLost) {
                faults.recordInjected('lostAnswer');
                return reject(unavailable(`the answer of ${name}`));
              }
              onAnswer(value, effectiveAt);
              resolve(value);
            }),
          (trouble: unknown) => answered(() => reject(trouble)),
        );
      });
    });
  }

  #hasRead({ runId }: RunAddress, commits: unknown, at: number): void {
    if (!isTorn(commits)) this.#readAt.set(runId, at);
  }

  lastReadAt(runId: string): number {
    return this.#readAt.get(runId) ?? 0;
  }

  /** The ports as this process reaches them. */
  deps(world: Deps): Deps {
    const { prng } = this.#around;
    const reached = new Map<string, object>();
    const reach = (port: object, portName: string): object =>
      new Proxy(port, {
        get: (target, method) => {
          const member: unknown = Reflect.get(target, method);
          if (typeof member !== 'function') return member;
          return (...given: unknown[]) =>
            this.call(
              () => Reflect.apply(member, target, given) as Promise<unknown>,
              `${portName}.${String(method)}`,
              method === 'commitsAfter' ? (commits, at) => this.#hasRead(given[0] as RunAddress, commits, at) : undefined,
            );
        },
      });
    const clock: Deps['clock'] = { now: () => this.now(), sleep: (wait, signal) => this.sleep(wait, signal) };
    const ids: Deps['ids'] = {
      runId: (at) => world.ids.runId(at),
      nonce: () => {
        const nonce = world.ids.nonce();
        this.onNonce(nonce);
        return nonce;
      },
      random: () => prng.next(),
    };
    return new Proxy(world, {
      get: (target, name) => {
        if (name === 'clock') return clock;
        if (name === 'ids') return ids;
        const port: unknown = Reflect.get(target, name);
        if (typeof name === 'symbol' || typeof port !== 'object' || port === null || untouched.has(name)) return port;
        const known = reached.get(name);
        if (known !== undefined) return known;
        const made = reach(port, name);
        reached.set(name, made);
        return made;
      },
    });
  }
}
