/** What is counted, and which of its counts depend on timing, with the bounds that they must keep. */
import type { Bill } from './bill.ts';
import type { BenchCloud } from './bench-cloud.ts';
import type { Bound } from './golden.ts';
import { chain, chainWithEnds, fan, sleeper, type Workflow } from './workflows.ts';

export interface Scenario {
  readonly workflow: Workflow;
  /** the status of the run's head when nothing moves it any more */
  readonly ends: 'completed' | 'pending';
  /** bounds by `kind.part`; everything else is exact */
  readonly bounds: Readonly<Record<string, Bound>>;
}

/** A warm function reads a key again after 15 s, whoever asks. */
const always = { 'readUnits.api keys': { atLeast: 0, atMost: 1 } } as const;

const collected = 100;

export const scenarios: readonly Scenario[] = [
  { workflow: chain(10), ends: 'completed', bounds: always },
  { workflow: chain(100), ends: 'completed', bounds: always },
  { workflow: chainWithEnds(10), ends: 'completed', bounds: always },
  { workflow: sleeper, ends: 'pending', bounds: always },
  { workflow: fan(8), ends: 'completed', bounds: always },
  { workflow: fan(collected), ends: 'completed', bounds: always },
];

/**
 * The bill of one run of the scenario in a warm cloud: its workflow has run once before. Nothing else may run meanwhile.
 */
export async function count(bench: BenchCloud, { workflow, ends }: Scenario): Promise<Bill> {
  await bench.publish(workflow);
  await bench.quiet(await bench.start(workflow, `${workflow.name}-warm`));
  const from = bench.calls;
  const runId = await bench.start(workflow, `${workflow.name}-counted`);
  const status = await bench.quiet(runId);
  if (status !== ends) throw new Error(`a run of ${workflow.name} is ${status}, and should be ${ends}`);
  return bench.bill(runId, from);
}
