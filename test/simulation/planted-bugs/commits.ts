/** Planted bugs in writing and reading a log. */
import type { PlantedBug } from './bug.ts';

const append = 'lib/service/run-log/append.ts';
const readLog = 'lib/service/run-log/read-run-fold.ts';
const memoryLog = 'lib/memory/run-log.ts';

export const commitBugs: readonly PlantedBug[] = [
  {
    name: 'a conflicting put counts as stored',
    file: append,
    find: "result.kind === 'stored' || result.nonce === commit.nonce",
    replace: "result.kind === 'stored' || result.nonce !== ''",
    within: 20,
  },
  {
    name: 'a worker does not recognize its own commit',
    file: append,
    find: "result.kind === 'stored' || result.nonce === commit.nonce",
    replace: "result.kind === 'stored'",
    within: 60,
  },
  {
    name: 'each retry of a put gets a new nonce',
    file: append,
    find: 'deps.log.put(fold.head.address, commit, fold.head.expiresAt, ended)',
    replace: 'deps.log.put(fold.head.address, { ...commit, nonce: deps.ids.nonce() }, fold.head.expiresAt, ended)',
    within: 60,
    faultProfile: 'lost answers',
    options: { withoutSweep: true, code: 0 },
  },
  {
    name: 'a conflict is ignored',
    file: append,
    find: "if (isAlreadyRecorded) return { kind: 'nothing' };",
    replace: "if (isAlreadyRecorded || read > 0) return { kind: 'nothing' };",
    within: 60,
    faultProfile: 'none',
    options: { withoutSweep: true },
  },
  {
    name: 'a decision that lost its put is committed again unchanged',
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
    name: 'a put with an unknown result counts as stored',
    file: append,
    find: 'retryUnavailable(clock, put, unknownOutcomeLimits);',
    replace:
      "put().catch((error: unknown) => {\n    if (error instanceof Unavailable) return { kind: 'stored' };\n    throw error;\n  });",
    within: 20,
    isSlow: true,
  },
  {
    name: 'a log with a missing commit is folded',
    file: readLog,
    find: 'return gap === -1 ? commits : commits.slice(0, gap);',
    replace: 'return gap === -1 ? commits : commits.slice(0);',
    within: 20,
  },
  {
    name: 'an incomplete read is not repeated',
    file: readLog,
    find: 'if (foldContiguous(fold, found, onCommit)) return fold.state.asOf - before;',
    replace: 'foldContiguous(fold, found, onCommit);\n    return fold.state.asOf - before;',
    within: 60,
  },
  {
    name: 'a put overwrites an existing commit',
    file: memoryLog,
    find: "if (existing !== undefined) return { kind: 'occupied', nonce: existing.nonce };",
    replace: '',
    within: 20,
  },
  {
    name: 'a head is written without a condition',
    file: memoryLog,
    find: "if (record.head !== undefined) return { kind: 'occupied', nonce: record.head.commit.nonce };",
    replace: '',
    within: 100,
  },
  {
    name: 'an earlier projection overwrites a later one',
    file: memoryLog,
    find: 'if (record.head === undefined || record.head.projection.asOf > projection.asOf || isTerminal(record.head)) return;',
    replace: 'if (record.head === undefined) return;',
    scenario: 'a projection that arrives late',
    within: 1,
  },
  {
    name: 'a cached fold older than its message is used',
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
    name: 'the last commit of an ended run is lost',
    file: memoryLog,
    find: 'record.head = frozenCopy({ ...record.head, projection });',
    replace:
      'record.head = frozenCopy({ ...record.head, projection });\n    if (isTerminal(record.head)) record.commits.delete(projection.asOf);',
    within: 20,
    faultProfile: 'none',
    options: { withoutSweep: true },
  },
  {
    name: 'a stored commit is not folded',
    file: append,
    find: 'advanceFold(fold, commit);',
    replace: '',
    within: 20,
  },
];
