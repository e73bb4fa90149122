/** Memory and processor time of the embedded cloud without work, after load: this process and the DynamoDB emulator. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';

export interface IdleLoad {
  readonly megabytes: number;
  /** of one core */
  readonly percent: number;
}

/** The sweep checks runs two to four minutes after their start. Threads of functions end after a minute without work. */
const untilIdleMs = 255_000;
/** The sweep runs each minute. So the period has exactly one sweep, and the figure does not depend on when it begins. */
const measuredMs = 60_000;
/** Linux counts processor time in ticks of 10 ms. */
const msPerTick = 10;

const recorded = z.looseObject({ pid: z.number() });

/** @param directory of the cloud */
export async function measureIdleLoad(directory: string): Promise<IdleLoad> {
  const { pid } = recorded.parse(JSON.parse(readFileSync(join(directory, 'state', 'dynoxide.pid'), 'utf8')));
  await wait(untilIdleMs);
  const pids = [process.pid, pid];
  const cpuMs = (): number => pids.reduce((sum, each) => sum + cpuMsOf(each), 0);
  const [before, startedAt] = [cpuMs(), performance.now()];
  await wait(measuredMs);
  return {
    megabytes: pids.reduce((sum, each) => sum + megabytesOf(each), 0),
    percent: (100 * (cpuMs() - before)) / (performance.now() - startedAt),
  };
}

/** User and system time: the 14th and 15th field of `proc_pid_stat(5)`. The name before them may have spaces. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * msPerTick;
}

function megabytesOf(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1_024;
}
