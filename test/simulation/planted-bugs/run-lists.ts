/** Planted bugs in run lists, whose indexes are eventually consistent. */
import type { PlantedBug } from './bug.ts';

const listRuns = 'lib/service/runs/list-runs.ts';

export const runListBugs: readonly PlantedBug[] = [
  {
    name: 'a run list shows the stale state of its index',
    file: listRuns,
    find: 'return endIn((newest ?? commit).events) ??',
    replace: 'return (asOf > 0 ? status : undefined) ??',
    within: 60,
  },
  {
    name: 'an ended run is listed as waiting',
    file: listRuns,
    find: '(filters.attention === head.projection.attention && !isEnded(status))',
    replace: 'filters.attention === head.projection.attention',
    within: 60,
    options: { code: 0, runs: 24 },
  },
];
