/** Injects worker crashes at commits of a test. After its crash, a process has no more effects: all its calls stay pending. */
import { stepNodeId } from '../engine/durable/step.ts';
import type { RunAddress } from '../engine/ids.ts';
import type { Commit } from '../engine/log/commit.ts';
import type { Instant } from '../engine/time.ts';
import type { RunLog } from '../ports/run-log.ts';
import type { Deps } from '../service/deps.ts';

/** `before`: the commit is lost. `after`: the commit is written, and the process does nothing after it. */
export type CrashTime = 'before' | 'after';

type OnCommit = (run: RunAddress, commit: Commit, deadlineAt?: Instant) => void;

type CrashPoint = { readonly time: CrashTime } & ({ readonly write: number } | { readonly step: string });

interface CommitWrite {
  readonly run: RunAddress;
  readonly commit: Commit;
  readonly deadlineAt?: Instant;
}

export class ProcessCrashed extends Error {
  override readonly name = 'Killed';
}

export class CrashInjector {
  readonly #crashPoints = new Set<CrashPoint>();
  /** commits tried so far, including the first commit of each run */
  writes = 0;
  /** crashes so far */
  count = 0;
  /** Called for each written commit; for the first commit of a run with the run's deadline. */
  readonly #onCommit: OnCommit;

  constructor(onCommit: OnCommit) {
    this.#onCommit = onCommit;
  }

  /** Adds a crash point. Each causes one crash. */
  addCrashPoint(crashPoint: CrashPoint): void {
    this.#crashPoints.add(crashPoint);
  }

  async write<Result>(
    { run, commit, deadlineAt }: CommitWrite,
    put: () => Promise<Result>,
    crash: () => Promise<never>,
  ): Promise<Result> {
    this.writes += 1;
    const crashPoint = [...this.#crashPoints].find((each) =>
      'write' in each ? each.write === this.writes : recordsOutcome(commit, each.step),
    );
    if (crashPoint !== undefined) {
      this.#crashPoints.delete(crashPoint);
      this.count += 1;
      if (crashPoint.time === 'before') return crash();
    }
    const result = await put();
    this.#onCommit(run, commit, deadlineAt);
    return crashPoint === undefined ? result : crash();
  }
}

/** Whether the commit contains the step's final result. */
const recordsOutcome = ({ events }: Commit, key: string): boolean =>
  events.some((event) => (event.type === 'NODE_COMPLETED' || event.type === 'NODE_FAILED') && event.nodeId === stepNodeId(key));

/** Ports without effects, which stay usable after a crash. */
const unaffectedPorts: ReadonlySet<string | symbol> = new Set(['clock', 'ids', 'settings', 'metrics', 'log']);

/** A worker process for the duration of one message. */
export class Process {
  readonly deps: Deps;
  /** rejects when the process crashes */
  readonly crashed: Promise<never>;
  readonly #rejectCrashed: (error: ProcessCrashed) => void;
  #isRunning = true;
  /** Called at a crash, to end the running workflow task. */
  onCrash: () => void = () => {};

  constructor(deps: Deps, crashes: CrashInjector) {
    const { promise, reject } = Promise.withResolvers<never>();
    this.crashed = promise;
    this.crashed.catch(() => {});
    this.#rejectCrashed = reject;
    const guardedLog = this.#guardPort(deps.log);
    const log: RunLog = new Proxy(guardedLog, {
      get: (target, name) => {
        if (name === 'create')
          return (...[creation, ended]: Parameters<RunLog['create']>) =>
            crashes.write(
              { run: creation.address, commit: creation.commit, deadlineAt: creation.deadlineAt },
              () => target.create(creation, ended),
              () => this.#crash(),
            );
        if (name !== 'put') return Reflect.get(target, name);
        return (...args: Parameters<RunLog['put']>) =>
          crashes.write(
            { run: args[0], commit: args[1] },
            () => target.put(...args),
            () => this.#crash(),
          );
      },
    });
    this.deps = new Proxy(deps, {
      get: (target, name) => {
        if (name === 'log') return log;
        const port: unknown = Reflect.get(target, name);
        return typeof port === 'object' && port !== null && !unaffectedPorts.has(name) ? this.#guardPort(port) : port;
      },
    });
  }

  #crash(): Promise<never> {
    this.#isRunning = false;
    this.#rejectCrashed(new ProcessCrashed());
    this.onCrash();
    return never;
  }

  #guardPort<Port extends object>(port: Port): Port {
    return new Proxy(port, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== 'function') return member;
        return (...args: unknown[]): unknown => (this.#isRunning ? Reflect.apply(member, target, args) : never);
      },
    });
  }
}

const never = new Promise<never>(() => {});
