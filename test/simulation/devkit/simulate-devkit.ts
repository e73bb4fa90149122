/** One seed of runs of the Workflow DevKit: the real service, a simulated application, faults, and the judges. */
import { hours, minutes } from '../../../lib/engine/time.ts';
import { type FaultRates, isHarmless } from '../faults.ts';
import { type SimulationOptions, type SimulationReport, simulate } from '../simulation.ts';
import { DevKitChecker } from './devkit-checker.ts';
import { DevKitWorkload } from './devkit-workload.ts';
import type { Plan } from './plan.ts';

export interface DevKitOptions extends Pick<SimulationOptions, 'crashPoints' | 'planted' | 'onCall'> {
  readonly seed: number;
  readonly rates: FaultRates;
  readonly runs?: number;
  readonly plans?: readonly Plan[];
}

export interface DevKitReport extends SimulationReport {
  readonly conflicts: number;
  readonly received: number;
  readonly maxIdleMs: number;
  readonly chunksRead: number;
  readonly largeRead: number;
}

/** With faults the sweep waits longer after each message that was sent in vain, and functions fail for minutes. */
const mostIdleMs = hours(2.5);
const mostWrongIdleMs = hours(5);
/** Where two of three deliveries are lost, the sweep sends seven messages in vain in one of twenty cases: 2 min × (2^8 − 1). */
const mostLossyIdleMs = hours(9);
const lossy = 0.5;
/** Without faults only clients crash: the sweep finds a run without events for two minutes at the next or the next but one minute. */
const mostCalmIdleMs = minutes(5);
/** Early, so that short runs have snapshots too. */
const firstSnapshots = [2, 8, 64] as const;

export async function simulateDevKit({ seed, rates, runs = 5, plans, ...others }: DevKitOptions): Promise<DevKitReport> {
  const judge = new DevKitChecker(rates.wrongClock === 0 && rates.clockJump === 0);
  const isCalm =
    others.crashPoints === undefined && Object.entries(rates).every(([kind, rate]) => rate === 0 || isHarmless(kind));
  const firstSnapshotAt = firstSnapshots[seed % firstSnapshots.length];
  const most = rates.lostDelivery > lossy ? mostLossyIdleMs : judge.areClocksRight ? mostIdleMs : mostWrongIdleMs;
  const options = { judge, runs, mostIdleMs: isCalm ? mostCalmIdleMs : most, ...(plans === undefined ? {} : { plans }) };
  let workload: DevKitWorkload | undefined;
  const report = await simulate({
    ...others,
    seed,
    rates,
    ...(firstSnapshotAt === undefined ? {} : { firstSnapshotAt }),
    onCommit: (run, commit, now) => {
      judge.committed(run, commit, now);
      workload?.committed(run, commit);
    },
    workload: (parts) => (workload = new DevKitWorkload(parts, options)),
  });
  return {
    ...report,
    conflicts: judge.conflicts,
    received: judge.received,
    maxIdleMs: judge.maxIdleMs,
    chunksRead: judge.streams.chunksRead,
    largeRead: judge.largeRead,
  };
}
