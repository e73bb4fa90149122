/** Bugs in the one effect of a resumption that is asked for more than once. */
import type { PlantedBug } from './bug.ts';

const resumeRun = 'lib/service/runs/resume-run.ts';

export const resumeBugs: readonly PlantedBug[] = [
  {
    name: 'a resumption that lost its put to one of the same key is made again',
    file: resumeRun,
    find: 'const keyedDecider = reservation === undefined ? decider : { ...decider, isAlreadyRecordedBy: resumesFor(reservation.owner) };',
    replace: 'const keyedDecider = decider;',
    within: 300,
  },
  {
    name: 'a key that was used for a resumption is used again',
    file: resumeRun,
    find: "if (reserved.kind === 'taken' && (await wasResumed(decider, fold, reservation))) return { kind: 'resumed', isReplay: true };",
    replace: 'void wasResumed;',
    within: 60,
  },
  {
    name: 'whoever comes second with a key takes the resumption for made',
    file: resumeRun,
    find: "if (reserved.kind === 'taken' && (await wasResumed(decider, fold, reservation))) return { kind: 'resumed', isReplay: true };",
    replace: "void wasResumed;\n  if (reserved.kind === 'taken') return { kind: 'resumed', isReplay: true };",
    within: 60,
  },
];
