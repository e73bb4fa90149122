/** Bugs in the one effect of a resumption that is asked for more than once. */
import type { PlantedBug } from './bug.ts';

const resumeRun = 'lib/service/resume-run.ts';

export const inResumptions: readonly PlantedBug[] = [
  {
    name: 'a resumption that lost its put to one of the same key is made again',
    file: resumeRun,
    find: 'const asker = standing === undefined ? decider : { ...decider, isSaidBy: resumesFor(standing.owner) };',
    replace: 'const asker = decider;',
    within: 300,
  },
  {
    name: 'a key that was used for a resumption is used again',
    file: resumeRun,
    find: "if (reserved.kind === 'taken' && (await wasResumed(decider, fold, standing))) return { kind: 'resumed', isReplay: true };",
    replace: 'void wasResumed;',
    within: 60,
  },
  {
    name: 'whoever comes second with a key takes the resumption for made',
    file: resumeRun,
    find: "if (reserved.kind === 'taken' && (await wasResumed(decider, fold, standing))) return { kind: 'resumed', isReplay: true };",
    replace: "void wasResumed;\n  if (reserved.kind === 'taken') return { kind: 'resumed', isReplay: true };",
    within: 60,
  },
];
