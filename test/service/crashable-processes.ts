/** Simulated processes: one of them crashes at a port call. Its later calls have no effect, and the other processes continue. */
import type { Deps } from '../../lib/service/deps.ts';
import { isInProcess } from './in-process-members.ts';

export interface CrashPoint {
  /** number of the port call over all processes, from 1 */
  readonly call: number;
  readonly kind: 'before' | 'after';
}

class Killed extends Error {
  override readonly name = 'Killed';
}

/** Members that are no ports, or have no side effects. */
const membersWithoutEffects: ReadonlySet<string> = new Set(['clock', 'ids', 'settings', 'metrics']);

export class CrashableProcesses {
  calls = 0;
  readonly #deps: Deps;
  readonly #crashPoint: CrashPoint | undefined;

  constructor(deps: Deps, crashPoint?: CrashPoint) {
    this.#deps = deps;
    this.#crashPoint = crashPoint;
  }

  /** The ports as a new process sees them. */
  start(): Deps {
    let isAlive = true;
    const die = (): never => {
      isAlive = false;
      throw new Killed();
    };
    const call = async (effect: () => unknown): Promise<unknown> => {
      if (!isAlive) throw new Killed();
      this.calls += 1;
      const isAimed = this.#crashPoint?.call === this.calls;
      if (isAimed && this.#crashPoint?.kind === 'before') die();
      const answer = await effect();
      if (isAimed) die();
      return answer;
    };
    const reach = <Port extends object>(port: Port): Port =>
      new Proxy(port, {
        get: (target, name) => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function') return member;
          if (isInProcess(name)) return member.bind(port);
          return (...given: unknown[]) => call(() => Reflect.apply(member, target, given));
        },
      });
    return new Proxy(this.#deps, {
      get: (deps, name) => {
        const port: unknown = Reflect.get(deps, name);
        return typeof port === 'object' && port !== null && typeof name === 'string' && !membersWithoutEffects.has(name)
          ? reach(port)
          : port;
      },
    });
  }
}

/** Whether the process finished its work without a crash. Other errors are rethrown. */
export async function survives(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (error) {
    if (error instanceof Killed) return false;
    throw error;
  }
}
