/** Planted bugs in runs that one commit can end, which is a part of their head. */
import type { PlantedBug } from './bug.ts';

const append = 'lib/service/run-log/append.ts';
const writeToHead = 'lib/service/kinds/graph/write-to-head.ts';
const finalizeRun = 'lib/service/commit/finalize-run.ts';

/** Chains of nodes without side effects. No end but a failure is published, so the commit can record it. */
const short = { code: 0, runs: 6, idempotent: 1, runEvents: 'failed' } as const;

export const shortChainBugs: readonly PlantedBug[] = [
  {
    name: 'a worker believes that the head records an end that it does not record',
    file: append,
    find: 'fold.head.expiresAt, ended));',
    replace: 'fold.head.expiresAt));',
    within: 20,
    faultProfile: 'none',
    options: { ...short, withoutSweep: true },
  },
  {
    name: 'the end is recorded with a commit that the head does not hold',
    file: append,
    find: 'isHeldByHead(fold.head, commit) ? endWith?.(commit) : undefined',
    replace: 'endWith?.(commit)',
    within: 20,
    faultProfile: 'none',
    options: short,
  },
  {
    name: 'the question whether a commit ends the run changes the fold',
    file: finalizeRun,
    find: 'const state = fork(before);',
    replace: 'const state = before;',
    within: 20,
    faultProfile: 'none',
    options: short,
  },
  {
    name: 'the head records the end of a run that only the commit before makes final',
    file: finalizeRun,
    find: '  if (!isTerminal(progress) || asOf === 0) return undefined;\n  return defined({\n    status: progress.status,',
    replace:
      "  if (asOf === 0) return undefined;\n  return defined({\n    status: isTerminal(progress) ? progress.status : ('completed' as const),",
    within: 20,
    faultProfile: 'none',
    options: short,
  },
  {
    name: 'of a pack that is too large for the head, the commit after it repeats the first result',
    file: writeToHead,
    find: 'events.slice(0, firstEvents), events.slice(firstEvents)]',
    replace: 'events.slice(0, firstEvents), events.slice(0)]',
    within: 60,
    faultProfile: 'none',
    options: short,
  },
  {
    name: 'of a pack that is too large for the head, the results after the first are lost',
    file: writeToHead,
    find: 'return commitDrafted(decider, fold, plan, first, () => (fold.state.asOf === number ? rest : undefined));',
    replace: 'return rest.length > 0 || number > 0 ? { appended, isWhole: true } : { appended, isWhole };',
    within: 60,
    faultProfile: 'none',
    options: { ...short, withoutSweep: true },
  },
];
