/** Bugs in what is said to whoever cancels a run. */
import type { PlantedBug } from './bug.ts';

const cancelRun = 'lib/service/runs/cancel-run.ts';

export const cancelBugs: readonly PlantedBug[] = [
  {
    name: 'a run that has failed is called cancelled',
    file: cancelRun,
    find: "if (progress.status === 'completed' || progress.status === 'failed') return",
    replace: "if (progress.status === 'completed') return",
    within: 60,
  },
  {
    name: 'whoever cancels a run that waits is told that it has ended',
    file: cancelRun,
    find: '  const waits = signalWaitsOf(fold.state);\n',
    replace:
      "  const waits = signalWaitsOf(fold.state);\n  if (waits.length > 0) return { kind: 'run_terminal', status: 'failed' };\n",
    within: 60,
  },
];
