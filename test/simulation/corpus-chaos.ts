/** Runs each fixed workflow with all faults and its own seed. Only the invariants are checked, not the end of the run. */
import { corpus } from './corpus.ts';
import { type FixedWorkflow, crashRun } from './crash-run.ts';
import { chaosFaults } from './faults.ts';

interface CorpusTally {
  runs: number;
  commits: number;
  /** faults that struck */
  faults: number;
  readonly violations: string[];
}

/** So far apart are the seeds of one round and those of the next. */
const seedsInRound = 1_000;

/**
 * @param round from 1; each has other seeds
 * @param share absent: each fixed workflow; otherwise the one at index `first`, and every n-th after it
 */
export async function runCorpusUnderChaos(
  round: number,
  { first, every }: { readonly first: number; readonly every: number } = { first: 0, every: 1 },
): Promise<CorpusTally> {
  const tally: CorpusTally = { runs: 0, commits: 0, faults: 0, violations: [] };
  const workflows = Object.values(corpus).flat();
  for (const [index, fixed] of workflows.entries())
    if (index % every === first) await runOne(tally, fixed, round * seedsInRound + index);
  return tally;
}

async function runOne(tally: CorpusTally, fixed: FixedWorkflow, seed: number): Promise<void> {
  tally.runs += 1;
  try {
    // A script says what holds of a calm run: it is told what it hears there.
    const { answers } = await crashRun(fixed);
    const { report } = await crashRun(fixed, { presetAnswers: answers, chaos: { seed, rates: chaosFaults } });
    tally.commits += report.commits;
    tally.faults += Object.values(report.counts).reduce((sum, count) => sum + count, 0);
  } catch (thrown) {
    tally.violations.push(`${fixed.name}, seed ${seed}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
  }
}
