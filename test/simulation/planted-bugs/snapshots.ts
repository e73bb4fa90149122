/** Planted bugs in stored folds. In most simulations a fold is stored from one of the first commits on. */
import type { PlantedBug } from './bug.ts';

const storedFold = 'lib/engine/log/stored-fold.ts';

export const snapshotBugs: readonly PlantedBug[] = [
  {
    name: 'a stored fold has a commit number that is too high',
    file: storedFold,
    find: '    ...emptyState(),\n    asOf,',
    replace: '    ...emptyState(),\n    asOf: commitNo(asOf + 1),',
    and: [
      { file: storedFold, find: 'type IterationKey, nodeKey }', replace: 'type IterationKey, commitNo, nodeKey }' },
      {
        file: 'lib/service/run-log/snapshots.ts',
        find: '  invariant(\n    state.asOf === asOf,\n    `the snapshot of ${run.runId} names commit ${asOf} but contains the fold of commit ${state.asOf}`,\n  );\n',
        replace: '  void [invariant, asOf];\n',
      },
    ],
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a stored fold lacks the open nodes',
    file: storedFold,
    find: 'if (isOpen(node)) state.open.set(nodeKey(node), true);',
    replace: 'void isOpen;',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a stored fold lacks the context writes',
    file: storedFold,
    find: 'of stored.contextWrites)',
    replace: 'of stored.contextWrites.slice(0, 0))',
    within: 60,
    options: { code: 0 },
  },
  {
    name: 'a stored fold lacks the budget usage',
    file: storedFold,
    find: '    budgetUsage,\n    ...(admission',
    replace: '    budgetUsage: budgetUsage.executions < 0 ? budgetUsage : { executions: 0, tokens: 0 },\n    ...(admission',
    within: 60,
    options: { code: 0, limits: { budget: { maxNodeExecutions: 6 } } },
  },
  {
    name: 'a stored fold lacks the concurrency slot',
    file: storedFold,
    find: '    ...(admission === undefined ? {} : { admission }),\n    ...(code === undefined ? {} : { code }),\n    ...(devkit === undefined ? {} : { devkit: restoreDevKit(devkit) }),\n  };\n  for',
    replace:
      '    ...(code === undefined ? {} : { code }),\n    ...(devkit === undefined ? {} : { devkit: restoreDevKit(devkit) }),\n  };\n  void admission;\n  for',
    within: 60,
    options: { code: 0, runs: 6, isShared: true, limits: { maxConcurrentRuns: 1 } },
  },
  {
    name: 'a stored fold lacks the code results',
    file: storedFold,
    find: '    ...(code === undefined ? {} : { code }),\n    ...(devkit === undefined ? {} : { devkit: restoreDevKit(devkit) }),\n  };\n  for',
    replace: '    ...(devkit === undefined ? {} : { devkit: restoreDevKit(devkit) }),\n  };\n  void code;\n  for',
    within: 60,
    options: { code: 1 },
  },
  {
    name: 'a stored fold lacks the loop iterations',
    file: storedFold,
    find: 'of stored.iterations)',
    replace: 'of stored.iterations.slice(0, 0))',
    within: 60,
    options: { code: 0 },
  },
];
