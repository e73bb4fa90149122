/** Bugs between a run and those that it calls. */
import type { PlantedBug } from './bug.ts';

export const inChildren: readonly PlantedBug[] = [
  {
    name: 'a run that is called is made by nobody',
    file: 'lib/service/tend-child.ts',
    find: 'fold === undefined ? await makeChild(decider, caller, wait) : await endOf(decider, fold);',
    replace: 'fold === undefined ? void makeChild : await endOf(decider, fold);',
    within: 20,
  },
  {
    name: 'the end of a called run is put on no record of its caller',
    file: 'lib/service/tend-child.ts',
    find: 'if (end !== undefined) await tell(decider, caller, wait, end);',
    replace: 'void [end, tell];',
    within: 20,
  },
];
