/**
 * A process: one invocation that can die at any port call. What it awaited then never comes; the world goes on.
 * Every port is wrapped here, so that each call is a moment of virtual time at which a fault can strike.
 */
import type { Deps } from '../../lib/service/deps.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';
import type { Faults } from './faults.ts';
import type { Prng } from './prng.ts';
import type { VirtualTime } from './virtual-time.ts';

export interface Surroundings {
  readonly time: VirtualTime;
  readonly prng: Prng;
  readonly faults: Faults;
}

export class Process {
  isAlive = true;
  readonly #around: Surroundings;
  readonly #died: () => void;

  constructor(around: Surroundings, died: () => void) {
    this.#around = around;
    this.#died = died;
  }

  die(): void {
    if (!this.isAlive) return;
    this.isAlive = false;
    this.#died();
  }

  /** One port call: it takes a while, has its effect at one moment, and is answered later, unless a fault strikes. */
  call<Answer>(effect: () => Promise<Answer>, name: string): Promise<Answer> {
    const { time, prng, faults } = this.#around;
    return new Promise((resolve, reject) => {
      if (!this.isAlive) return;
      faults.calls += 1;
      if (faults.strikes('crashBefore')) return this.die();
      const diesAfter = faults.strikes('crashAfter');
      const isRefused = faults.strikes('refused');
      const isAnswerLost = faults.strikes('lostAnswer');
      const latencyMs = faults.strikes('slow') ? prng.whole(1_000, 20_000) : prng.whole(1, 12);
      const answer = (settle: () => void): void => time.in(prng.whole(0, 4), () => (this.isAlive ? settle() : undefined));
      time.in(latencyMs, () => {
        if (isRefused) return answer(() => reject(new Unavailable(name)));
        effect().then(
          (value) => {
            if (diesAfter) return this.die();
            answer(() => (isAnswerLost ? reject(new Unavailable(`the answer of ${name}`)) : resolve(value)));
          },
          (trouble: unknown) => answer(() => reject(trouble)),
        );
      });
      // A lost answer is learnt of only by waiting; a slow request outlives its caller's patience.
    });
  }

  /** The ports as this process reaches them. */
  deps(world: Deps): Deps {
    const { time, prng } = this.#around;
    const reach = <Port extends object>(port: Port, portName: string): Port =>
      new Proxy(port, {
        get: (target, method) => {
          const member: unknown = Reflect.get(target, method);
          if (typeof member !== 'function') return member;
          return (...given: unknown[]) =>
            this.call(() => Reflect.apply(member, target, given) as Promise<unknown>, `${portName}.${String(method)}`);
        },
      });
    const clock: Deps['clock'] = {
      now: () => time.now,
      sleep: (wait, signal) =>
        new Promise((resolve) => {
          if (signal?.aborted === true) return resolve();
          signal?.addEventListener('abort', () => resolve(), { once: true });
          time.in(wait, () => (this.isAlive ? resolve() : undefined));
        }),
    };
    return {
      ...world,
      log: reach(world.log, 'log'),
      index: reach(world.index, 'index'),
      jobs: reach(world.jobs, 'jobs'),
      timers: reach(world.timers, 'timers'),
      blobs: reach(world.blobs, 'blobs'),
      notices: reach(world.notices, 'notices'),
      workflows: reach(world.workflows, 'workflows'),
      reservations: reach(world.reservations, 'reservations'),
      deployments: reach(world.deployments, 'deployments'),
      signals: reach(world.signals, 'signals'),
      clock,
      ids: { runId: (at) => world.ids.runId(at), nonce: () => world.ids.nonce(), chance: () => prng.next() },
    };
  }
}
