/** Planted bugs in version pinning, where a newer graph is published while a run is open. */
import type { PlantedBug } from './bug.ts';

const graph = 'lib/service/commit/plans.ts';

export const versionBugs: readonly PlantedBug[] = [
  {
    name: 'a run continues with a newer version of its graph',
    file: graph,
    find: 'const version = await deps.workflows.version(scope, workflowName(pinned.name), pinned.version);',
    replace:
      'const asked = (number: number) => deps.workflows.version(scope, workflowName(pinned.name), number);\n    const version = (await asked(pinned.version + 1)) ?? (await asked(pinned.version));',
    within: 60,
  },
  {
    name: 'the plan cache ignores the version',
    file: graph,
    find: 'pinned.name, pinned.version, ...testRunKey]',
    replace: 'pinned.name, ...testRunKey]',
    within: 60,
    options: { code: 0, runs: 16 },
  },
];
