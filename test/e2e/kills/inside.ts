/**
 * Loaded into every thread of an embedded cloud before other modules (`node --import`). With it a test can simulate faults of a
 * machine: it ends a function's thread during an invocation, moves the clock, and routes one external address to the test's
 * server. Neither handlers nor the embedded cloud depend on it.
 */
import { syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import workerThreads, { Worker, getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads';
import { type ControlRequest, type ControlResponse, startVariables } from './cloud-control.ts';
import { effectServerAddress } from './effect-server-address.ts';

/** Shared by all threads: how many milliseconds the cloud's clock is ahead of the machine's. */
const clockKey = 'stepwell.kills.clock';
const portKey = 'stepwell.kills.port';

function shared(): { readonly ahead: BigInt64Array; readonly port: number } {
  if (isMainThread) {
    const buffer = new SharedArrayBuffer(8);
    new BigInt64Array(buffer)[0] = BigInt(process.env[startVariables.aheadMs] ?? '0');
    setEnvironmentData(clockKey, buffer);
    setEnvironmentData(portKey, Number(process.env[startVariables.effectServerPort] ?? '0'));
  }
  const [buffer, port] = [getEnvironmentData(clockKey), getEnvironmentData(portKey)];
  if (!(buffer instanceof SharedArrayBuffer) || typeof port !== 'number')
    throw new Error('the main thread has not been prepared');
  return { ahead: new BigInt64Array(buffer), port };
}

const { ahead, port } = shared();

/** Dates use the cloud's clock. Timers are unchanged: a wait takes its real time. */
function moveClock(): void {
  const { now } = Date;
  const nowHere = (): number => now() + Number(Atomics.load(ahead, 0));
  globalThis.Date = new Proxy(Date, {
    get: (target, name) => (name === 'now' ? nowHere : Reflect.get(target, name)),
    construct: (target, given: unknown[], maker) => Reflect.construct(target, given.length === 0 ? [nowHere()] : given, maker),
    apply: (target) => new target(nowHere()).toString(),
  });
}

const isAddressed = (value: unknown): value is { host: unknown; port: unknown } =>
  typeof value === 'object' && value !== null && 'host' in value && value.host === effectServerAddress;

/** Routes one public address to the test's server. */
function leadOutside(): void {
  // oxlint-disable-next-line typescript/unbound-method -- called with the socket it belongs to
  const { connect } = Socket.prototype;
  Object.assign(Socket.prototype, {
    connect(this: Socket, ...given: unknown[]): unknown {
      // `net.connect` passes its options in an array.
      const [first] = given;
      const options: unknown = Array.isArray(first) ? first[0] : first;
      if (isAddressed(options)) Object.assign(options, { host: '127.0.0.1', port });
      return Reflect.apply(connect, this, given);
    },
  });
}

const functionThreads = new Map<Worker, { readonly name: string; isBusy: boolean }>();
let onBusy: () => void = () => {};

const kindOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'kind' in message ? message.kind : undefined;

/** All threads load this module; the main thread tracks which functions are running. */
class PreparedWorker extends Worker {
  constructor(file: string | URL, options: workerThreads.WorkerOptions = {}) {
    super(file, { ...options, execArgv: [...(options.execArgv ?? []), '--import', import.meta.url] });
    if (!isMainThread || options.name === undefined) return;
    functionThreads.set(this, { name: options.name, isBusy: false });
    this.once('exit', () => functionThreads.delete(this));
    this.on('message', (message: unknown) => {
      const thread = functionThreads.get(this);
      if (thread !== undefined && ['returned', 'failed', 'ended'].includes(String(kindOf(message)))) thread.isBusy = false;
    });
  }

  override postMessage(...given: Parameters<Worker['postMessage']>): void {
    super.postMessage(...given);
    const thread = functionThreads.get(this);
    if (thread === undefined || kindOf(given[0]) !== 'invoke') return;
    thread.isBusy = true;
    onBusy();
  }
}

/** Selects a running function and one of its threads. @param rank from 0 to 1 */
function busyThread(rank: number): [Worker, string] | undefined {
  const busy = [...functionThreads].flatMap(([worker, { name, isBusy }]) => (isBusy ? [[worker, name] as const] : []));
  const names = [...new Set(busy.map(([, name]) => name))].toSorted();
  const name = names[Math.floor(rank * names.length)];
  const threads = busy.filter(([, each]) => each === name).map(([worker]) => worker);
  const worker = threads[Math.floor(((rank * names.length) % 1) * threads.length)];
  return worker === undefined || name === undefined ? undefined : [worker, name];
}

/** The interval of checks for due schedules, because the clock may move meanwhile. */
const lookEveryMs = 250;

/** The embedded cloud's scheduler sets timers for a steady clock; here it must check repeatedly. */
function letSchedulerLook(): void {
  const real = globalThis.setTimeout;
  const looking = (run: () => void, waitMs = 0, ...given: []): NodeJS.Timeout =>
    real(
      run,
      waitMs > lookEveryMs && (new Error().stack ?? '').includes('/lib/local/scheduler/') ? lookEveryMs : waitMs,
      ...given,
    );
  globalThis.setTimeout = Object.assign(looking, real);
}

function openDoors(): void {
  const tell = (told: ControlResponse): void => void process.send?.(told);
  const end = (asked: Extract<ControlRequest, { kind: 'end-thread' }>, until: number): void => {
    // The test has stopped waiting: it would not know of this fault.
    if (performance.now() > until) return void (onBusy = () => {});
    const found = busyThread(asked.rank);
    if (found === undefined) {
      onBusy = () => setTimeout(() => end(asked, until), asked.afterMs % 20);
      return;
    }
    onBusy = () => {};
    const [worker, name] = found;
    void worker.terminate().then(() => tell({ kind: 'thread-ended', name, id: asked.id }));
  };
  process.on('message', (asked: ControlRequest) => {
    if (asked.kind === 'move-clock') {
      Atomics.add(ahead, 0, BigInt(asked.byMs));
      tell({ kind: 'clock-moved', id: asked.id });
    } else if (asked.kind === 'list-active') {
      tell({
        kind: 'active',
        id: asked.id,
        names: [...functionThreads.values()].flatMap(({ name, isBusy }) => (isBusy ? [name] : [])),
      });
    } else {
      const until = performance.now() + asked.withinMs;
      setTimeout(() => end(asked, until), asked.afterMs);
    }
  });
  // The parent process has exited, so no process would end this one.
  process.once('disconnect', () => process.kill(process.pid, 'SIGKILL'));
}

moveClock();
leadOutside();
Object.assign(workerThreads, { Worker: PreparedWorker });
syncBuiltinESMExports();
if (isMainThread) {
  letSchedulerLook();
  openDoors();
}
