/**
 * A simulated process: one invocation that can crash at any port call, pause, and have its own clock. A crashed process never
 * gets the responses that it waits for, and the simulation continues. This module wraps every port, so that each call is an
 * event in virtual time at which a fault can happen.
 */
import type { Nonce, RunAddress } from '../../lib/engine/ids.ts';
import { type DurationMs, type Instant, instant } from '../../lib/engine/time.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { isInProcess } from '../service/in-process-members.ts';
import type { Faults } from './faults.ts';
import type { Prng } from './prng.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface SimulationContext {
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly faults: Faults;
}

/** Synchronized clocks of cloud machines differ by less than a second; these clocks are worse. */
const mostWrongMs = 90_000;
const longestFreezeMs = 1_200_000;

/** Marks the result of a read with a missing commit: it does not show the state at its time. */
export const torn = Symbol('torn');
const isTorn = (value: unknown): boolean => typeof value === 'object' && value !== null && torn in value;

/** A call's name starts with the name of its port; throttling applies to a whole port. */
const storeOf = (call: string): string => call.slice(0, call.indexOf('.'));

/** Without a stack: all of them start here, and taking a stack costs more than a call. */
function unavailable(what: string): Unavailable {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  const thrown = new Unavailable(what);
  Error.stackTraceLimit = stackTraceLimit;
  return thrown;
}

/** Calls that no crash prevents and no fault affects. */
const untouched: ReadonlySet<string> = new Set(['clock', 'ids', 'settings', 'metrics']);

export class Process {
  isAlive = true;
  /** by run: the time of the last read of its log; the process cannot know later commits */
  readonly #readAt = new Map<string, number>();
  readonly #around: SimulationContext;
  #wrongMs: number;
  #frozenUntil = 0;
  /** the process has paused once */
  hasStood = false;
  /** the time limit of its function, at which it ends as on Lambda, also during work */
  endsAt = Infinity;
  /** Called when the time limit has ended it. */
  onTimeout: () => void = () => {};
  /** Called with each nonce that it draws; nonces identify its commits. */
  onNonce: (nonce: Nonce) => void = () => {};
  /** Called at each port call. */
  onCall: (name: string) => void = () => {};
  /** Called when it crashes, for its running work. */
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
      // A crashed process is noticed only at its next action.
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

  /** One port call: it takes time, takes effect at one instant, and returns its response later, unless a fault happens. */
  /** @param onAnswer called with each response and the time at which it was true */
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
      // A request that was sent arrives even if its sender crashes.
      time.in(latencyMs, () => {
        if (isRefused) return answer(() => reject(unavailable(name)));
        const effectiveAt = time.now;
        const answered = (settle: () => void): void => {
          if (!diesAfter) return answer(settle);
          // Of two calls side by side, both can have a planned crash. The process crashes once, at the first.
          if (this.isAlive || faults.hasCrashPoints) faults.recordInjected('crashAfter');
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
          (thrown: unknown) => answered(() => reject(thrown)),
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

  /** The ports of this process. */
  deps(world: Deps): Deps {
    const { prng } = this.#around;
    const reached = new Map<string, object>();
    const reach = (port: object, portName: string): object =>
      new Proxy(port, {
        get: (target, method) => {
          const member: unknown = Reflect.get(target, method);
          if (typeof member !== 'function') return member;
          if (isInProcess(method)) return member.bind(target);
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
