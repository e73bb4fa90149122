/** Bugs between a run and those that it calls. */
import type { PlantedBug } from './bug.ts';

export const inChildren: readonly PlantedBug[] = [
  {
    name: 'a run that is called is made by nobody',
    file: 'lib/service/tend-child.ts',
    find: 'fold === undefined ? await makeChild(decider, caller, wait) : await childEnd(decider.deps, fold);',
    replace: 'fold === undefined ? void makeChild : await childEnd(decider.deps, fold);',
    within: 20,
  },
  {
    name: 'the end of a called run is put on no record of its caller',
    file: 'lib/service/tend-child.ts',
    find: 'if (end === undefined) return;',
    replace: 'return;',
    within: 20,
  },
];
