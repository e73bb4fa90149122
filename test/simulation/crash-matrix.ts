/**
 * The crash matrix of one fixed workflow. It runs once without a crash to count its port calls, then once for each call with a
 * crash before it and once with a crash after it. On request, each of these runs again with a second crash at each later call.
 */
import * as z from 'zod';
import type { SimulationOptions } from './simulation.ts';
import { timingDependent, timingDependentAfterTwoCrashes } from './timing-dependent.ts';
import { type RunResult, type CrashRun, type FixedWorkflow, crashRun } from './crash-run.ts';
import type { CrashPoint } from './faults.ts';
import { normalizeAfterCrash } from './exhausted-retries.ts';

export const matrixRowSchema = z.strictObject({
  workflows: z.number(),
  /** port calls of the runs without a crash */
  calls: z.number(),
  /** runs with one crash */
  crashes: z.number(),
  /** runs with two */
  pairs: z.number(),
  /** planned crashes, and those that happened */
  aimed: z.number(),
  struck: z.number(),
  /** runs whose end was compared with the run without a crash */
  compared: z.number(),
  violations: z.array(z.string()),
});

/** The matrix results of one or more workflows. */
export type MatrixRow = z.infer<typeof matrixRowSchema>;

export const emptyMatrixRow = (): MatrixRow => ({
  workflows: 0,
  calls: 0,
  crashes: 0,
  pairs: 0,
  aimed: 0,
  struck: 0,
  compared: 0,
  violations: [],
});

export function addMatrixRow(into: MatrixRow, { violations, ...numbers }: MatrixRow): void {
  for (const name of Object.keys(numbers).filter(isAmount)) into[name] += numbers[name];
  into.violations.push(...violations);
}

type Amount = Exclude<keyof MatrixRow, 'violations'>;
const isAmount = (name: string): name is Amount => name !== 'violations' && name in emptyMatrixRow();

export interface MatrixOptions {
  /** pairs of crashes run for workflows with at most this many calls, because their number grows quadratically */
  readonly maxCallsForPairs?: number;
  readonly planted?: SimulationOptions['planted'];
}

const kinds = ['crashBefore', 'crashAfter'] as const;

export async function runCrashMatrix(
  fixed: FixedWorkflow,
  { maxCallsForPairs: most = 0, planted }: MatrixOptions = {},
): Promise<MatrixRow> {
  const row = { ...emptyMatrixRow(), workflows: 1 };
  const plan = planted === undefined ? {} : { planted };
  const calm = await crashRun(fixed, plan);
  row.calls = calm.calls.length;
  const crashed = async (crashPoints: readonly CrashPoint[], callsBefore: readonly string[]): Promise<CrashRun | undefined> => {
    row.aimed += crashPoints.length;
    const where = crashPoints.map(({ call, kind }) => `${kind} ${call} ${callsBefore[call - 1]}`).join(', ');
    try {
      const run = await crashRun(fixed, { crashPoints, presetAnswers: calm.answers, ...plan });
      const struck = run.report.counts.crashBefore + run.report.counts.crashAfter;
      row.struck += struck;
      const isByChance = (crashPoints.length === 1 ? timingDependent : timingDependentAfterTwoCrashes).has(
        fixed.variantOf ?? fixed.name,
      );
      const difference = isByChance ? undefined : differenceOf(calm.result, run.result);
      if (difference !== undefined) row.violations.push(`${fixed.name}: ${where}: ${difference}`);
      if (!isByChance) row.compared += 1;
      return run;
    } catch (thrown) {
      // The crash happened first. A later error does not matter.
      row.struck += crashPoints.length;
      row.violations.push(`${fixed.name}: ${where}: ${thrown instanceof Error ? thrown.message : String(thrown)}`);
      return undefined;
    }
  };
  for (let call = 1; call <= calm.calls.length; call += 1) {
    for (const kind of kinds) {
      row.crashes += 1;
      const first = { call, kind };
      const once = await crashed([first], calm.calls);
      if (once === undefined || calm.calls.length > most) continue;
      for (let later = call + 1; later <= once.calls.length; later += 1) {
        for (const then of kinds) {
          row.pairs += 1;
          await crashed([first, { call: later, kind: then }], once.calls);
        }
      }
    }
  }
  return row;
}

function differenceOf(calm: RunResult, { spent, ...crashed }: RunResult): string | undefined {
  if (crashed.givenUp.length > 0) return `${crashed.givenUp.join(', ')} failed before the last try`;
  const nodes = normalizeAfterCrash(crashed.nodes.split(' '), calm.nodes.split(' '), spent).join(' ');
  const came = { ...crashed, nodes };
  const differs = (['status', 'output', 'nodes'] as const).find((what) => calm[what] !== came[what]);
  if (differs === undefined) return undefined;
  return `${differs} ${came[differs].slice(0, 200)}, and without a crash ${calm[differs].slice(0, 200)}`;
}
