/** Bugs in the one way into a log, and in reading it. */
import type { PlantedBug } from './bug.ts';

const append = 'lib/service/run-log/append.ts';
const readLog = 'lib/service/run-log/read-run-fold.ts';
const memoryLog = 'lib/memory/run-log.ts';

export const commitBugs: readonly PlantedBug[] = [
  {
    name: 'a refused put is taken for a win',
    file: append,
    find: "result.kind === 'stored' || result.nonce === commit.nonce",
    replace: "result.kind === 'stored' || result.nonce !== ''",
    within: 20,
  },
  {
    name: 'a commit of one’s own in the slot is not known as one’s own',
    file: append,
    find: "result.kind === 'stored' || result.nonce === commit.nonce",
    replace: "result.kind === 'stored'",
    within: 60,
  },
  {
    name: 'each try of a put has a nonce of its own',
    file: append,
    find: 'deps.log.put(fold.head.address, commit, fold.head.expiresAt)',
    replace: 'deps.log.put(fold.head.address, { ...commit, nonce: deps.ids.nonce() }, fold.head.expiresAt)',
    within: 60,
    faultProfile: 'lost answers',
    options: { withoutSweep: true, code: 0 },
  },
  {
    name: 'a conflict is swallowed',
    file: append,
    find: "if (isAlreadyRecorded) return { kind: 'nothing' };",
    replace: "if (isAlreadyRecorded || read > 0) return { kind: 'nothing' };",
    within: 60,
    faultProfile: 'none',
    options: { withoutSweep: true },
  },
  {
    name: 'a decision that has lost its slot goes into the next as it is',
    file: append,
    find: 'const decided = await withPayloads(deps, fold.head.address, decide, loaded);',
    replace:
      'const decided = kept.length > 0 ? kept : await withPayloads(deps, fold.head.address, decide, loaded);\n    kept = decided;',
    and: [
      {
        file: append,
        find: 'for (let lostPuts = 0; lostPuts <= maxLostPuts; lostPuts += 1) {',
        replace: 'let kept: readonly RunEvent[] = [];\n  for (let lostPuts = 0; lostPuts <= maxLostPuts; lostPuts += 1) {',
      },
    ],
    within: 20,
  },
  {
    name: 'a put of unknown outcome is taken for a win',
    file: append,
    find: 'if (!(error instanceof Unavailable) || attempts === maxPutAttempts) throw error;',
    replace: "if (error instanceof Unavailable) return { kind: 'stored' };\n      if (attempts === maxPutAttempts) throw error;",
    within: 20,
    isSlow: true,
  },
  {
    name: 'a log is folded over a hole',
    file: readLog,
    find: 'return gap === -1 ? commits : commits.slice(0, gap);',
    replace: 'return gap === -1 ? commits : commits.slice(0);',
    within: 20,
  },
  {
    name: 'a torn answer is not asked for again',
    file: readLog,
    find: 'if (foldContiguous(fold, found, onCommit)) return fold.state.asOf - before;',
    replace: 'foldContiguous(fold, found, onCommit);\n    return fold.state.asOf - before;',
    within: 60,
  },
  {
    name: 'a put does not ask whether its slot is free',
    file: memoryLog,
    find: "if (existing !== undefined) return { kind: 'occupied', nonce: existing.nonce };",
    replace: '',
    within: 20,
  },
  {
    name: 'a head is written without asking whether it is there',
    file: memoryLog,
    find: "if (record.head !== undefined) return { kind: 'occupied', nonce: record.head.commit.nonce };",
    replace: '',
    within: 100,
  },
  {
    name: 'an earlier projection goes over a later one, and over an end',
    file: memoryLog,
    find: 'if (record.head === undefined || record.head.projection.asOf > projection.asOf || isTerminal(record.head)) return;',
    replace: 'if (record.head === undefined) return;',
    scenario: 'a projection that lands late',
    within: 1,
  },
  {
    name: 'a fold that is older than its message is used as it is',
    file: 'lib/service/run-log/fold-cache.ts',
    find: 'options.minCommit !== undefined && fold.state.asOf >= options.minCommit && !options.mustBeFresh',
    replace: 'options.minCommit !== undefined && !options.mustBeFresh',
    and: [
      {
        file: 'lib/service/run-log/fold-cache.ts',
        find: 'if (options.minCommit !== undefined && fold.state.asOf < options.minCommit) {',
        replace: 'if (fold.state.asOf < 1) {',
      },
    ],
    within: 60,
    faultProfile: 'none',
    options: { withoutSweep: true },
  },
  {
    name: 'the last commit of a run that has ended is lost',
    file: memoryLog,
    find: 'record.head = frozenCopy({ ...record.head, projection });',
    replace:
      'record.head = frozenCopy({ ...record.head, projection });\n    if (isTerminal(record.head)) record.commits.delete(projection.asOf);',
    within: 20,
    faultProfile: 'none',
    options: { withoutSweep: true },
  },
  {
    name: 'a win is not folded',
    file: append,
    find: 'applyCommit(fold.state, commit);',
    replace: '',
    within: 20,
  },
];
