/** Where the processes of a test die, and what it is to be dead: whatever they ask for after that never happens. */
import { stepNodeId } from '../engine/durable/step.ts';
import type { RunAddress } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { Instant } from '../engine/time.ts';
import type { RunLog } from '../ports/run-log.ts';
import type { Deps } from '../service/deps.ts';

/** `before`: what was to be written is lost with whoever was to write it. `after`: it stands, and nobody has gone on with it. */
export type CrashTime = 'before' | 'after';

type OnWritten = (run: RunAddress, commit: Commit, deadlineAt?: Instant) => void;

type Aim = { readonly time: CrashTime } & ({ readonly write: number } | { readonly step: string });

interface Writing {
  readonly run: RunAddress;
  readonly commit: Commit;
  readonly deadlineAt?: Instant;
}

export class Killed extends Error {
  override readonly name = 'Killed';
}

export class Crashes {
  readonly #aims = new Set<Aim>();
  /** commits to logs that were tried, the first one of each run included */
  writes = 0;
  /** how often somebody died */
  count = 0;
  /** Is told of each commit that stands; of a run's first one, when it has to have ended. */
  readonly #onWritten: OnWritten;

  constructor(onWritten: OnWritten) {
    this.#onWritten = onWritten;
  }

  /** Each aim is met once. */
  aim(aim: Aim): void {
    this.#aims.add(aim);
  }

  async write<Answer>(
    { run, commit, deadlineAt }: Writing,
    put: () => Promise<Answer>,
    die: () => Promise<never>,
  ): Promise<Answer> {
    this.writes += 1;
    const aim = [...this.#aims].find((each) => ('write' in each ? each.write === this.writes : records(commit, each.step)));
    if (aim !== undefined) {
      this.#aims.delete(aim);
      this.count += 1;
      if (aim.time === 'before') return die();
    }
    const answer = await put();
    this.#onWritten(run, commit, deadlineAt);
    return aim === undefined ? answer : die();
  }
}

/** The commit says what the step has come to for good. */
const records = ({ events }: Commit, key: string): boolean =>
  events.some((event) => (event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED') && event.nodeId === stepNodeId(key));

/** What no death can keep from happening: to look at a clock, to make an id. */
const untouched: ReadonlySet<string | symbol> = new Set(['clock', 'ids', 'settings', 'metrics', 'log']);

/** One of the machines that the service runs on, for the time of one message. */
export class Process {
  readonly deps: Deps;
  /** rejects when it dies */
  readonly died: Promise<never>;
  readonly #kill: (death: Killed) => void;
  #isAlive = true;
  /** Is called when it dies, for what it has at work. */
  onDeath: () => void = () => {};

  constructor(deps: Deps, crashes: Crashes) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.died = promise;
    this.died.catch(() => {});
    this.#kill = reject;
    const reached = this.#reach(deps.log);
    const log: RunLog = new Proxy(reached, {
      get: (target, name) => {
        if (name === 'create')
          return (...[creation]: Parameters<RunLog['create']>) =>
            crashes.write(
              { run: creation.address, commit: creation.commit, deadlineAt: creation.deadlineAt },
              () => target.create(creation),
              () => this.#die(),
            );
        if (name !== 'put') return Reflect.get(target, name);
        return (...given: Parameters<RunLog['put']>) =>
          crashes.write(
            { run: given[0], commit: given[1] },
            () => target.put(...given),
            () => this.#die(),
          );
      },
    });
    this.deps = new Proxy(deps, {
      get: (target, name) => {
        if (name === 'log') return log;
        const port: unknown = Reflect.get(target, name);
        return typeof port === 'object' && port !== null && !untouched.has(name) ? this.#reach(port) : port;
      },
    });
  }

  #die(): Promise<never> {
    this.#isAlive = false;
    this.#kill(new Killed());
    this.onDeath();
    return never;
  }

  #reach<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...given: unknown[]): unknown => (this.#isAlive ? Reflect.apply(member, target, given) : never);
      },
    });
  }
}

const never = new Promise<never>(() => {});
