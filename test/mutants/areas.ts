/** The areas of the engine in the order in which their mutants are tried, with the tests of each area. */
export interface Area {
  /** as source paths begin */
  readonly path: string;
  /** globs of test files */
  readonly tests: readonly string[];
}

/**
 * Without what takes seconds by itself: whoever lives has to be asked by each of these. Topologies and limits of payloads judge
 * the files that they are about.
 */
const engine = [
  'test/engine/*.test.ts',
  'test/engine/{log,durable,retry,schedule,fetch}/*.test.ts',
  'test/engine/graph/!(payload-limits|topologies).test.ts',
];

/** Of the log: its own, and what plays each kind of event in a few commits. */
const log = [
  'test/engine/log/*.test.ts',
  'test/engine/concurrency-slots.test.ts',
  'test/engine/durable/*.test.ts',
  'test/engine/graph/{endings,retries,signals,sleeps,subflow}.test.ts',
];

/** Of the verdict on a node, and of what its edges have become. */
const joins = ['test/engine/graph/{joins,dispatch,edge-conditions,endings,failures,random-graphs}.test.ts'];

/**
 * Whoever lives after the tests of its area is judged by all of these: they take minutes, and most mutants are caught long before.
 * Those that play thousands of commits, or ask other systems, would say the same once more.
 */
export const everyTest = [
  'test/mutants/worlds.test.ts',
  'test/engine/**/*.test.ts',
  'test/histories/*.test.ts',
  'test/service/!(wide-joins|many-calls|long-loops|resumed-watch).test.ts',
];

/** First what every run goes through: a mutant that lives there would hurt most. The first area that fits a file has it. */
export const areas: readonly Area[] = [
  { path: 'lib/engine/log/fold-loop', tests: [...log, 'test/engine/graph/loops.test.ts'] },
  // Passes of loops are in their states, and what a join waits for.
  ...['fold.ts', 'run-state', 'silence'].map((name) => ({
    path: `lib/engine/log/${name}`,
    tests: [...log, 'test/engine/graph/{loops,joins,failures}.test.ts', 'test/service/execution/recover-run.test.ts'],
  })),
  { path: 'lib/engine/log/', tests: log },
  { path: 'lib/engine/graph/join', tests: joins },
  { path: 'lib/engine/graph/edge-state', tests: joins },
  { path: 'lib/engine/graph/payload-limits', tests: [...engine, 'test/engine/graph/payload-limits.test.ts'] },
  { path: 'lib/engine/graph/finish-graph', tests: [...engine, 'test/engine/graph/{payload-limits,topologies}.test.ts'] },
  { path: 'lib/engine/graph/', tests: engine },
  {
    path: 'lib/engine/durable/',
    tests: [
      'test/engine/durable/*.test.ts',
      'test/histories/*.test.ts',
      'test/program/{steps,drives}.test.ts',
      'test/testing/replay.test.ts',
    ],
  },
  { path: 'lib/engine/retry/', tests: ['test/engine/retry/*.test.ts', 'test/engine/graph/retries.test.ts'] },
  {
    path: 'lib/engine/concurrency-slots',
    tests: ['test/engine/concurrency-slots.test.ts', 'test/service/concurrency-slots.test.ts'],
  },
  { path: 'lib/engine/fetch/', tests: ['test/engine/fetch/*.test.ts', 'test/service/bundle-runs.test.ts'] },
  { path: 'lib/engine/polled/', tests: ['test/engine/polled/*.test.ts'] },
  { path: 'lib/engine/schedule/', tests: ['test/engine/schedule/*.test.ts', 'test/service/schedules.test.ts'] },
  {
    path: 'lib/engine/query/',
    tests: [
      'test/engine/query/*.test.ts',
      'test/service/definitions/project-queries.test.ts',
      'test/nodes/data-query/http.test.ts',
    ],
  },
  { path: 'lib/engine/', tests: [...engine, 'test/service/trace.test.ts'] },
];
