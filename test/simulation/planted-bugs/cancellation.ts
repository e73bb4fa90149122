/** Planted bugs in the response to a cancel request. */
import type { PlantedBug } from './bug.ts';

const cancelRun = 'lib/service/runs/cancel-run.ts';

export const cancelBugs: readonly PlantedBug[] = [
  {
    name: 'the cancel of a failed run reports it as cancelled',
    file: cancelRun,
    find: "if (progress.status === 'completed' || progress.status === 'failed') return",
    replace: "if (progress.status === 'completed') return",
    within: 60,
  },
  {
    name: 'the cancel of a waiting run reports it as ended',
    file: cancelRun,
    find: '  const waits = signalWaitsOf(fold.state);\n',
    replace:
      "  const waits = signalWaitsOf(fold.state);\n  if (waits.length > 0) return { kind: 'run_terminal', status: 'failed' };\n",
    within: 60,
  },
];
