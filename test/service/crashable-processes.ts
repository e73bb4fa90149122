/** Processes of which one dies at a port call: what it asks for after that never happens, and the others go on. */
import type { Deps } from '../../lib/service/deps.ts';

export interface CrashPoint {
  /** 1 for the first port call of all processes together */
  readonly call: number;
  readonly kind: 'before' | 'after';
}

class Killed extends Error {
  override readonly name = 'Killed';
}

/** What is no port, or answers at once and touches nothing. */
const untouched: ReadonlySet<string> = new Set(['clock', 'ids', 'settings', 'metrics']);

export class CrashableProcesses {
  calls = 0;
  readonly #deps: Deps;
  readonly #crashPoint: CrashPoint | undefined;

  constructor(deps: Deps, crashPoint?: CrashPoint) {
    this.#deps = deps;
    this.#crashPoint = crashPoint;
  }

  /** The world as one new process reaches it. */
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
          return (...given: unknown[]) => call(() => Reflect.apply(member, target, given));
        },
      });
    return new Proxy(this.#deps, {
      get: (deps, name) => {
        const port: unknown = Reflect.get(deps, name);
        return typeof port === 'object' && port !== null && typeof name === 'string' && !untouched.has(name) ? reach(port) : port;
      },
    });
  }
}

/** Whether the process lived to the end of its work; any other trouble is thrown. */
export async function survives(work: Promise<unknown>): Promise<boolean> {
  try {
    await work;
    return true;
  } catch (trouble) {
    if (trouble instanceof Killed) return false;
    throw trouble;
  }
}
