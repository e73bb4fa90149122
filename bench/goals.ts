/**
 * The goals of docs/BENCH.md beside what was reached. A count is a fact about the product, so a count beyond its goal fails the bench. A
 * time is a fact about the machine too: the table only says that it is beyond its goal.
 */
import { type Bill, total } from './bill.ts';
import { readGolden } from './golden.ts';
import { dollarsPerMillionRuns, throughStartApi } from './prices.ts';
import { table } from './tables.ts';

type Unit = 'units' | 'requests' | 'calls' | '$' | 'ms' | 'bare puts' | 'a second' | 'MB' | '% of a core';
const countedUnits: readonly Unit[] = ['units', 'requests', 'calls', '$'];

export interface Goal {
  readonly what: string;
  readonly unit: Unit;
  readonly reached: number;
  readonly goal: number;
  /** absent: the goal is the most */
  readonly isLeast?: true;
}

export interface CountedBills {
  /** of ten scripts, as a run is started without options */
  readonly started: Bill;
  /** of ten scripts, with the answer in the request of the start */
  readonly answered: Bill;
  /** of a batch of `batchRuns` runs of ten scripts, altogether */
  readonly batch: Bill;
  readonly batchRuns: number;
  /** calls of a warm start that wait for each other */
  readonly waitingCalls: number;
}

/** The exact units of a packed chain: those of its commits and its end on a virtual clock, and those of the rest of a run. */
function packedUnits(length: number, bill: Bill): number {
  const { commits = 0, end } = readGolden(`packed-chain-${length}`)?.['writeUnits'] ?? {};
  if (typeof commits !== 'number' || typeof end !== 'number')
    throw new Error(`packed-chain-${length} has no exact count of write units`);
  return total(bill.writeUnits, ['commits', 'end']) + commits + end;
}

/** Programs send their starts to the start API, which an installation has by default. The table of dollars has the REST API too. */
const dollars = (bill: Bill): number =>
  dollarsPerMillionRuns(throughStartApi(bill)).reduce((sum, { dollars: each }) => sum + each, 0);

export function countedGoals({ started, answered, batch, batchRuns, waitingCalls }: CountedBills): readonly Goal[] {
  const [answeredUnits, batchUnits] = [answered, batch].map(({ writeUnits }) => total(writeUnits, ['rate windows']));
  return [
    ...(
      [
        [10, 7],
        [100, 12],
        [1_000, 70],
      ] as const
    ).map(([length, goal]) => ({
      what: `write units of ${length} scripts, on a virtual clock`,
      unit: 'units' as const,
      reached: packedUnits(length, started),
      goal,
    })),
    { what: 'a million runs of ten scripts, through the start API', unit: '$', reached: dollars(started), goal: 9 },
    { what: 'a million, answered in one request, through the start API', unit: '$', reached: dollars(answered), goal: 7.5 },
    { what: 'a million, in batches of ten, through the start API', unit: '$', reached: dollars(batch) / batchRuns, goal: 4.5 },
    { what: 'write units of a run answered in one request', unit: 'units', reached: answeredUnits ?? 0, goal: 5 },
    { what: 'write units of a run in a batch of ten', unit: 'units', reached: (batchUnits ?? 0) / batchRuns, goal: 5 },
    {
      what: 'queue requests of a run in a batch of ten',
      unit: 'requests',
      reached: total(batch.queueRequests) / batchRuns,
      goal: 1,
    },
    { what: 'calls of a warm start that wait for each other', unit: 'calls', reached: waitingCalls, goal: 4 },
  ];
}

const isMissed = ({ reached, goal, isLeast }: Goal): boolean => !(isLeast === true ? reached >= goal : reached <= goal);
const isCount = ({ unit }: Goal): boolean => countedUnits.includes(unit);

/** One message for each count beyond its goal. */
export const missedCounts = (goals: readonly Goal[]): readonly string[] =>
  goals
    .filter((goal) => isCount(goal) && isMissed(goal))
    .map((goal) => `${goal.what}: ${written(goal.reached, goal.unit)}, and ${written(goal.goal, goal.unit)} is the goal`);

const written = (value: number, unit: Unit): string => {
  const digits = unit === '$' ? value.toFixed(2) : Number.isInteger(value) ? String(value) : value.toFixed(value < 100 ? 1 : 0);
  return unit === '$' ? `$${digits}` : `${digits} ${unit}`;
};

export const goalTable = (goals: readonly Goal[]): string =>
  table([
    ['', 'reached', 'goal', ''],
    ...goals.map((goal) => [
      goal.what,
      written(goal.reached, goal.unit),
      `${goal.isLeast === true ? 'at least' : 'at most'} ${written(goal.goal, goal.unit)}`,
      isMissed(goal) ? (isCount(goal) ? 'MISSED' : 'not reached on this machine') : 'reached',
    ]),
  ]);
