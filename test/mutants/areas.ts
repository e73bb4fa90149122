/** The areas of the engine in the order in which their mutants are tried, with the tests of each area. */
export interface Area {
  /** as source paths begin */
  readonly path: string;
  /** globs of test files */
  readonly tests: readonly string[];
}

/**
 * Without tests that take seconds: each surviving mutant runs against all of these. The tests of topologies and payload limits
 * run for their own files.
 */
const engine = [
  'test/engine/*.test.ts',
  'test/engine/{log,durable,schedule,bundle}/*.test.ts',
  'test/engine/graph/!(payload-limits|topologies).test.ts',
];

/** Tests of the log, and tests that use each event type in a few commits. */
const log = [
  'test/engine/log/*.test.ts',
  'test/engine/concurrency-slots.test.ts',
  'test/engine/durable/*.test.ts',
  'test/engine/graph/{endings,retries,signals,sleeps,subflow}.test.ts',
];

/** Tests of join decisions and edge states. */
const joins = ['test/engine/graph/{joins,dispatch,edge-conditions,endings,failures,random-graphs}.test.ts'];

/**
 * A mutant that survives its area runs against all of these; they take minutes. Tests with thousands of commits or with other
 * systems are left out because they check the same code again.
 */
export const everyTest = [
  'test/mutants/worlds.test.ts',
  'test/engine/**/*.test.ts',
  'test/histories/*.test.ts',
  'test/service/!(wide-joins|many-calls|long-loops.deep|resumed-watch).test.ts',
];

/** Code that every run executes comes first. A file belongs to the first area that matches it. */
export const areas: readonly Area[] = [
  { path: 'lib/engine/log/fold-loop', tests: [...log, 'test/engine/graph/loops.test.ts'] },
  // The run state includes loop iterations and the parents of joins.
  ...['fold.ts', 'run-state', 'heartbeat-timeout'].map((name) => ({
    path: `lib/engine/log/${name}`,
    tests: [...log, 'test/engine/graph/{loops,joins,failures}.test.ts', 'test/service/execution/recover-run.test.ts'],
  })),
  { path: 'lib/engine/log/', tests: log },
  { path: 'lib/engine/graph/edges', tests: joins },
  { path: 'lib/engine/graph/inbound-edges', tests: joins },
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
  { path: 'lib/engine/retry', tests: ['test/engine/retry.test.ts', 'test/engine/graph/retries.test.ts'] },
  {
    path: 'lib/engine/concurrency-slots',
    tests: ['test/engine/concurrency-slots.test.ts', 'test/service/concurrency-slots.test.ts'],
  },
  { path: 'lib/engine/bundle/', tests: ['test/engine/bundle/*.test.ts', 'test/service/bundle-runs.test.ts'] },
  { path: 'lib/engine/external/', tests: ['test/engine/external/*.test.ts'] },
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
