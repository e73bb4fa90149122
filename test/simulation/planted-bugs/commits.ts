/** Bugs in the one way into a log, and in reading it. */
import type { PlantedBug } from './bug.ts';

const append = 'lib/service/append.ts';
const readLog = 'lib/service/read-log.ts';
const memoryLog = 'lib/memory/run-log.ts';

export const inCommits: readonly PlantedBug[] = [
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
    weather: 'lost answers',
    options: { withoutSweep: true, code: 0 },
  },
  {
    name: 'a conflict is swallowed',
    file: append,
    find: "if (isSaid) return { kind: 'nothing' };",
    replace: "if (isSaid || read > 0) return { kind: 'nothing' };",
    within: 60,
    weather: 'calm',
    options: { withoutSweep: true },
  },
  {
    name: 'a decision that has lost its slot goes into the next as it is',
    file: append,
    find: 'const decided = await withPayloads(deps, fold.head.address, question, loaded);',
    replace:
      'const decided = kept.length > 0 ? kept : await withPayloads(deps, fold.head.address, question, loaded);\n    kept = decided;',
    and: [
      {
        file: append,
        find: 'for (let lost = 0; lost <= mostLostPuts; lost += 1) {',
        replace: 'let kept: readonly RunEvent[] = [];\n  for (let lost = 0; lost <= mostLostPuts; lost += 1) {',
      },
    ],
    within: 20,
  },
  {
    name: 'a put of unknown outcome is taken for a win',
    file: append,
    find: '    if (!(trouble instanceof Unavailable) || tried === mostPuts) throw trouble;'.trim(),
    replace: "if (trouble instanceof Unavailable) return { kind: 'stored' };\n      if (tried === mostPuts) throw trouble;",
    within: 20,
    isSlow: true,
  },
  {
    name: 'a log is folded over a hole',
    file: readLog,
    find: 'return hole === -1 ? commits : commits.slice(0, hole);',
    replace: 'return hole === -1 ? commits : commits.slice(0);',
    within: 20,
  },
  {
    name: 'a torn answer is not asked for again',
    file: readLog,
    find: 'if (foldDense(fold, found, meet)) return fold.state.asOf - before;',
    replace: 'foldDense(fold, found, meet);\n    return fold.state.asOf - before;',
    within: 60,
  },
  {
    name: 'a put does not ask whether its slot is free',
    file: memoryLog,
    find: "if (standing !== undefined) return { kind: 'occupied', nonce: standing.nonce };",
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
    scene: 'a projection that lands late',
    within: 1,
  },
  {
    name: 'a fold that is older than its message is used as it is',
    file: 'lib/service/warm-folds.ts',
    find: 'wanted.atLeast !== undefined && fold.state.asOf >= wanted.atLeast && !wanted.isFresh',
    replace: 'wanted.atLeast !== undefined && !wanted.isFresh',
    and: [
      {
        file: 'lib/service/warm-folds.ts',
        find: 'if (wanted.atLeast !== undefined && fold.state.asOf < wanted.atLeast) {',
        replace: 'if (fold.state.asOf < 1) {',
      },
    ],
    within: 60,
    weather: 'calm',
    options: { withoutSweep: true },
  },
  {
    name: 'the last commit of a run that has ended is lost',
    file: memoryLog,
    find: 'record.head = kept({ ...record.head, projection });',
    replace:
      'record.head = kept({ ...record.head, projection });\n    if (isTerminal(record.head)) record.commits.delete(projection.asOf);',
    within: 20,
    weather: 'calm',
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
