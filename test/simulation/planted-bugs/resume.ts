/** Planted bugs in the idempotency of a resume request. */
import type { PlantedBug } from './bug.ts';

const resumeRun = 'lib/service/runs/resume-run.ts';

export const resumeBugs: readonly PlantedBug[] = [
  {
    name: 'a resume that lost its put to the same key is repeated',
    file: resumeRun,
    find: 'const keyedDecider = reservation === undefined ? decider : { ...decider, isAlreadyRecordedBy: resumesFor(reservation.owner) };',
    replace: 'const keyedDecider = decider;',
    within: 300,
  },
  {
    name: 'a resume accepts a used idempotency key',
    file: resumeRun,
    find: "if (reserved.kind === 'taken' && (await wasResumed(decider, fold, reservation))) return { kind: 'resumed', isReplay: true };",
    replace: 'void wasResumed;',
    within: 60,
  },
  {
    name: 'a concurrent resume with the same key counts as completed',
    file: resumeRun,
    find: "if (reserved.kind === 'taken' && (await wasResumed(decider, fold, reservation))) return { kind: 'resumed', isReplay: true };",
    replace: "void wasResumed;\n  if (reserved.kind === 'taken') return { kind: 'resumed', isReplay: true };",
    within: 60,
  },
];
