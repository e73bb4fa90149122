/**
 * The clock of the embedded cloud: that of this machine, plus an offset that `stepwell clock advance` increases. Handlers, emulators and
 * deployed code read `Date` like everywhere else: this module replaces `Date` in the cloud's process and in each of its threads. All of
 * them read one shared offset, so an advance takes effect everywhere at once.
 */
import { syncBuiltinESMExports } from 'node:module';
import workerThreads, { type WorkerOptions, getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

/** Threads receive the shared memory under this name, and pass it to the threads that they start. */
const environmentKey = 'stepwell:clock';
/** A thread loads this module twice: by `--import`, and as a part of its program. */
const installedKey = Symbol.for('stepwell:clock');

/** In milliseconds, in memory that all threads share. */
type Offset = Float64Array<SharedArrayBuffer>;

function replaceDate(offset: Offset): void {
  const MachineDate = Date;
  const machineNow = Date.now.bind(Date);
  const now = (): number => machineNow() + (offset[0] ?? 0);
  MachineDate.now = now;
  globalThis.Date = new Proxy(MachineDate, {
    construct: (target, values: unknown[], newTarget) =>
      Reflect.construct(target, values.length === 0 ? [now()] : values, newTarget),
    apply: () => new MachineDate(now()).toString(),
  });
}

/** Threads that the code of a function starts load this module first. */
function shiftThreads(): void {
  const preload = ['--import', import.meta.url];
  workerThreads.Worker = class extends workerThreads.Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      super(file, { ...options, execArgv: [...(options.execArgv ?? []), ...preload] });
    }
  };
  // Bundles import the class by its name.
  syncBuiltinESMExports();
}

/** Shifts the clock of the cloud's process. Its threads follow with `followClock`. @returns what changes the offset, in milliseconds */
export function shiftClock(offsetMs: number): { readonly setOffset: (ms: number) => void } {
  const offset: Offset = new Float64Array(new SharedArrayBuffer(8));
  offset[0] = offsetMs;
  setEnvironmentData(environmentKey, offset.buffer);
  replaceDate(offset);
  return { setOffset: (ms) => void (offset[0] = ms) };
}

/** In a thread: reads the clock of the process that shifted it. Without one, nothing changes. */
export function followClock(): void {
  const shared = getEnvironmentData(environmentKey);
  if (!(shared instanceof SharedArrayBuffer) || Reflect.get(globalThis, installedKey) === true) return;
  Reflect.set(globalThis, installedKey, true);
  replaceDate(new Float64Array(shared));
  shiftThreads();
}

if (!workerThreads.isMainThread) followClock();
