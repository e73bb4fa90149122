/**
 * Counts the calls of a request that wait for each other. Each call of a port takes one unit of a virtual time, so calls that the
 * request sends side by side share a unit, and the duration of the request is the number of calls that wait.
 */
import type { Job, JobCalls } from '../../lib/ports/jobs.ts';
import { isInProcess } from '../service/in-process-members.ts';
import { VirtualTime } from '../simulation/virtual-time.ts';
import type { MemoryPorts } from '../../lib/memory/memory-ports.ts';
import { type Answered, type Http, http } from './http.ts';

/** Ports that call nothing outside the process. */
const local: ReadonlySet<string> = new Set(['clock', 'ids', 'metrics']);

export interface CountedHttp {
  readonly api: Http;
  /** The calls of a request, in the unit in which each began. */
  readonly waitingCalls: (request: () => Promise<Answered>) => Promise<WaitingCalls>;
  /** The counted ports. */
  readonly world: () => MemoryPorts;
  /** Another port whose calls are counted. */
  readonly port: <Port extends object>(name: string, port: Port) => Port;
  /** Units of the virtual time since the request began. */
  readonly units: () => number;
  /** From now on a message that was sent takes one unit until this process has it. Without it, messages stay in the queues. */
  readonly deliverTo: (handle: (job: Job) => Promise<void>) => void;
}

interface WaitingCalls {
  readonly answer: Answered;
  readonly rounds: readonly (readonly string[])[];
}

/** @param jobCallsOf the functions that execute jobs of requests that wait, over the counted ports */
export function countedHttp(jobCallsOf?: (world: MemoryPorts) => JobCalls): CountedHttp {
  const time = new VirtualTime(0);
  const rounds: string[][] = [];
  /** Setup is not counted and does not wait. */
  let startedAt: number | undefined;
  let deliver: ((job: Job) => Promise<void>) | undefined;
  let memory: MemoryPorts | undefined;
  let ports: MemoryPorts | undefined;
  const counted = async (name: string, call: () => Promise<unknown>): Promise<unknown> => {
    if (startedAt === undefined) return call();
    (rounds[time.now - startedAt] ??= []).push(name);
    await new Promise<void>((resolve) => time.in(1, resolve));
    return call();
  };
  const receiveAll = (): void => {
    const handle = deliver;
    if (handle === undefined || memory === undefined) return;
    const { jobs } = memory;
    for (const job of [...jobs.takeSent(), ...jobs.takeMessages(), ...jobs.takeDue()])
      void counted('receipt', async () => void handle(job));
  };
  const countedPort = <Port extends object>(port: Port, portName: string): Port =>
    new Proxy(port, {
      get: (target, method) => {
        const member: unknown = Reflect.get(target, method, target);
        if (typeof member !== 'function') return member;
        if (isInProcess(method)) return member.bind(target);
        return async (...given: readonly unknown[]) =>
          counted(`${portName}.${String(method)}`, async (): Promise<unknown> => {
            const answer: unknown = await Reflect.apply(member, target, given);
            if (portName === 'jobs') receiveAll();
            return answer;
          });
      },
    });
  let calls: JobCalls | undefined;
  const jobCalls: JobCalls = { call: async (call, signal) => calls?.call(call, signal) ?? { kind: 'refused' } };
  const change = (world: MemoryPorts): Partial<MemoryPorts> => {
    const names = Object.keys(world).filter((name) => !local.has(name) && typeof Reflect.get(world, name) === 'object');
    const counted = Object.fromEntries(names.map((name) => [name, countedPort(Reflect.get(world, name) as object, name)]));
    memory = world;
    ports = { ...world, ...counted };
    if (jobCallsOf !== undefined) calls = countedPort(jobCallsOf({ ...world, ...counted }), 'functions');
    return counted;
  };
  const api = http(change, undefined, undefined, undefined, undefined, undefined, jobCalls);
  return {
    api,
    world: () => {
      if (ports === undefined) throw new Error('the API has no ports');
      return ports;
    },
    port: (name, port) => countedPort(port, name),
    units: () => time.now - (startedAt ?? time.now),
    deliverTo: (handle) => void (deliver = handle),
    waitingCalls: async (request) => {
      rounds.length = 0;
      startedAt = time.now;
      let isAnswered = false;
      const answering = request().finally(() => {
        isAnswered = true;
      });
      await time.run(Infinity, () => isAnswered);
      const counts = rounds.map((calls) => calls.toSorted());
      // What the answer did not wait for must not run beside the next request.
      await time.run(Infinity, () => false);
      startedAt = undefined;
      return { answer: await answering, rounds: counts };
    },
  };
}
