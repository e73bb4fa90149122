/** Bugs in lists of runs, whose indexes are late. */
import type { PlantedBug } from './bug.ts';

const listRuns = 'lib/service/runs/list-runs.ts';

export const runListBugs: readonly PlantedBug[] = [
  {
    name: 'a run is listed as its index has it',
    file: listRuns,
    find: 'return known ?? (status',
    replace: 'return asOf > 0 ? status : known ?? (status',
    within: 60,
  },
  {
    name: 'a run that has ended is listed among those that wait',
    file: listRuns,
    find: '(filters.attention === head.projection.attention && !isEnded(status))',
    replace: 'filters.attention === head.projection.attention',
    within: 1_500,
  },
];
