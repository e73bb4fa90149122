/** Scenarios of runs that wait beyond their first deadline, and beyond the first expiry of what they have stored. */
import { type DurationMs, days, minutes } from '../../lib/engine/time.ts';
import { overrideMethods } from '../service/override-methods.ts';
import { type CrashRunOptions, type FixedWorkflow, crashRun } from './crash-run.ts';
import { noFaults } from './faults.ts';
import { fixedTopology } from './fixed-topologies.ts';
import type { CodeWorkflow, Part } from './random-code.ts';
import { simulate } from './simulation.ts';
import { runInvariant } from './violation.ts';

const wait: DurationMs = days(50);

const delayed: FixedWorkflow = fixedTopology({
  name: 'a-delay-beyond-the-first-expiry',
  description: 'A run that waits for 50 days: its deadline is extended, and its items live on.',
  edges: ['start -> nap -> after'],
  nodes: { nap: { type: 'delay', delayMinutes: wait / minutes(1) } },
  verify: () => {},
});

/** For the crash matrix: a process crashes between the extension and the last rewritten item. */
export const longWaits: readonly FixedWorkflow[] = [delayed];

/** More items than a page of the retention job. */
const manySteps = 110;
const step: Part = { kind: 'step', ms: 0, failures: 0, mostAttempts: 1, hasRollback: false };

const longLog: CodeWorkflow = {
  name: 'a-long-log',
  mostAttempts: 1,
  isIdempotent: false,
  part: { kind: 'seq', parts: [...Array.from({ length: manySteps }, () => step), { kind: 'sleep', ms: wait }, step] },
};

/** No client wakes the run of this seed. */
const sleepsOn = 1;

/** @throws a violation where an item of the long log expires while the run sleeps */
export async function aLongLogThatOutlivesItsFirstExpiry(): Promise<void> {
  const { extensions } = await simulate({ seed: sleepsOn, rates: noFaults, codes: [longLog], runs: 1, longWaits: 1 });
  runInvariant(5, extensions === 1, `the deadline was extended ${extensions} times`);
}

/** A violation is also a run that does not complete. */
async function completes(options: CrashRunOptions): Promise<readonly string[]> {
  const { calls, result } = await crashRun(delayed, options);
  runInvariant(5, result.status === 'completed', `a run that waits for ${wait} ms ended as ${result.status}`);
  return calls;
}

/** @throws a violation where a crash during the extension leaves items with the earlier expiry */
export async function aCrashWhileADeadlineIsExtended(): Promise<void> {
  const calls = await completes({});
  // The calls before the deadline do not matter here: the crash matrix has them.
  const from = calls.findIndex((name) => name === 'log.extendItems');
  runInvariant(5, from > 0, 'no item was extended');
  for (let call = Math.max(1, from - 10); call <= Math.min(calls.length, from + 10); call += 1)
    await completes({ crashPoints: [{ call, kind: 'crashAfter' }] });
}

/** @throws a violation where no sweep sends the lost message again */
export async function aRetentionMessageThatIsLost(): Promise<void> {
  let lost = 0;
  await completes({
    chaos: { seed: 7, rates: { ...noFaults } },
    planted: (world) => ({
      ...world,
      jobs: overrideMethods(world.jobs, {
        sendDelayed: async (job, delay) => {
          if (job.kind !== 'retention' || lost > 0) return world.jobs.sendDelayed(job, delay);
          lost += 1;
        },
      }),
    }),
  });
  runInvariant(5, lost === 1, 'no message was lost');
}
