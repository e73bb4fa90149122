/** Scenarios of a code run that fails and is rerun from the step that failed. */
import { noFaults } from './faults.ts';
import type { CodeWorkflow, Part } from './random-code.ts';
import { type SimulationOptions, simulate } from './simulation.ts';
import { runInvariant } from './violation.ts';

const step = (more: Partial<Extract<Part, { kind: 'step' }>> = {}): Part => ({
  kind: 'step',
  ms: 5,
  failures: 0,
  mostAttempts: 1,
  hasRollback: false,
  ...more,
});

/** Fails after the others have completed. */
const failing = step({ ms: 12_000, failures: 1_000 });
const failingStep = 'work-0.1';

const failsAtLast: CodeWorkflow = {
  name: 'fails-at-last',
  mostAttempts: 1,
  isIdempotent: false,
  part: { kind: 'all', parts: [{ kind: 'seq', parts: [step(), step(), step()] }, failing] },
};

/** No client cancels the run of this seed. */
const calmSeed = 2;

async function play(options: Pick<SimulationOptions, 'crashPoints' | 'onCall'>): Promise<void> {
  const { summary } = await simulate({
    seed: calmSeed,
    rates: { ...noFaults, cancelled: 0 },
    codes: [failsAtLast],
    runs: 1,
    rerunsFrom: failingStep,
    ...options,
  });
  runInvariant(9, summary.length === 2, `${summary.length} runs exist, and one was rerun once`);
}

/** @throws a violation where the new run lacks a step, executes one again, or is created twice, also after a crash at any call */
export async function aRerunFromAStep(): Promise<void> {
  const calls: string[] = [];
  await play({ onCall: (name) => calls.push(name) });
  const copies = calls.indexOf('log.prepare') + 1;
  runInvariant(9, copies > 0, 'no log was copied');
  for (let call = copies - 8; call <= Math.min(calls.length, copies + 16); call += 1)
    for (const kind of ['crashBefore', 'crashAfter'] as const) await play({ crashPoints: [{ call, kind }] });
}
