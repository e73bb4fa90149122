/** Generates docs/PROOF.md from the stored reports of the commands. The same reports give the same document. */
import type * as z from 'zod';
import { type KillCounts } from '../e2e/kills/count.ts';
import { type Report as Mutants, intervalOf } from '../mutants/report.ts';
import type { FaultKind } from './faults.ts';
import { type MatrixRow, addMatrixRow, emptyMatrixRow } from './crash-matrix.ts';
import type { Report as Bugs } from './planted-bugs/report.ts';
import { bugScenarios } from './planted-bugs/bug-scenarios.ts';
import type { DevKitSeeds, foundSchema, matrixSchema, seedsSchema } from './reports.ts';
import type { SimulationReport } from './simulation.ts';

export interface Reports {
  readonly seeds: z.output<typeof seedsSchema> | undefined;
  readonly devKit: DevKitSeeds | undefined;
  readonly matrix: z.output<typeof matrixSchema> | undefined;
  /** the crash matrix with two crashes in each run */
  readonly pairs: z.output<typeof matrixSchema> | undefined;
  readonly bugs: Bugs;
  readonly kills: KillCounts | undefined;
  readonly mutants: Mutants | undefined;
  readonly found: z.output<typeof foundSchema>;
  readonly regressionSeeds: readonly { readonly seed: number; readonly faultProfile: string; readonly found: string }[];
}

const notYet = 'It has not run yet.';

export function proofDocument(reports: Reports): string {
  return `${[
    preface,
    summary(reports),
    seedsPart(reports),
    devKitPart(reports),
    matrixPart(reports),
    pairsPart(reports),
    bugsPart(reports),
    killsPart(reports),
    mutantsPart(reports),
    modelPart,
    foundPart(reports),
  ].join('\n\n')}\n`;
}

const preface = `# Test results of the protocol

The simulation checks the ten invariants of a run (docs/ARCHITECTURE.md) and two invariants of its own against the real code of \`lib/service\` and
\`lib/engine\`. The commands in this table write this page from their reports in \`test/simulation/proof\`. \`npm run proof\` writes it again from the
stored reports. \`npm run test:deep\` runs 5,000 seeds and 300 more, the whole crash matrix and much of the rest. CI takes this share of it, which changes with the
day and the commit:

- a quarter of the 5,000 seeds, and 300 more
- a quarter of the crash matrix
- the planted bugs that one seed finds, and eight others, which change with the sources
- five kills, every fifth time: of the files that run the whole product CI takes a fifth
- the walks of the model.`;

const number = (value: number): string => value.toLocaleString('en-US', { maximumFractionDigits: 1 });

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = [head, ...rows].map((row) =>
    row.map((cell) => (typeof cell === 'number' ? number(cell) : cell.replaceAll('|', '\\|').replaceAll('*', '\\*'))),
  );
  const widths = head.map((_one, column) => Math.max(3, ...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [first = [], ...others] = cells;
  return [line(first), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others.map(line)].join('\n');
}

function summary({ seeds, devKit, matrix, pairs, bugs, kills, mutants }: Reports): string {
  const caught = bugs.filter(({ seed }) => seed !== undefined).length;
  const whole = wholeOf(matrix);
  const twice = wholeOf(pairs);
  return table(
    ['what', 'by', 'how many', 'violations'],
    [
      ['simulations, one per seed', '`npm run simulate -- --go-on`', seeds?.tally.seeds ?? 0, seeds?.tally.failed.length ?? 0],
      [
        'simulations of runs of the Workflow DevKit',
        '`npm run simulate:devkit`',
        sumOf(devKit, 'seeds'),
        sumOf(devKit, 'failed'),
      ],
      ['crashes, one before and one after each port call', '`npm run crash-matrix`', whole.crashes, whole.violations.length],
      ['pairs of crashes in small workflows', '`npm run crash-matrix -- --pairs 20`', twice.pairs, twice.violations.length],
      ['planted bugs', '`npm run planted-bugs`', `${caught} of ${bugs.length} caught`, '-'],
      ['real kills', '`npm run kills`', kills?.kills.all ?? 0, kills?.violations.length ?? 0],
      ['mutants of the engine, whole count', '`npm run mutants`', mutantsCaught(mutants), '-'],
      ['mutants of the engine, last sample', '`npm run mutants -- --sample 200`', mutantsInSample(mutants), '-'],
    ],
  );
}

function mutantsCaught(mutants: Mutants | undefined): string {
  if (mutants === undefined) return '0';
  const { killed, timedOut, mutants: all } = mutants.totals;
  return `${number(killed + timedOut)} of ${number(all)} killed`;
}

function seedsPart({ seeds }: Reports): string {
  const head = `## Simulations

Each seed determines one simulation: the real service and engine, simulated ports, virtual time and one random generator.
\`npm run simulate -- --seed 42\` replays a simulation byte for byte. A simulation has three runs and injects all faults. After the 5,000 seeds of CI, every fifth
simulation has concurrency slots, a budget, child runs that a client cancels, or eight runs without faults, so that stricter checks apply
(\`test/simulation/options-of-seed.ts\`).`;
  if (seeds === undefined) return `${head} ${notYet}`;
  const { tally, seconds, commits, earlier } = seeds;
  const { faults, seen, failed } = tally;
  return `${head} ${number(tally.seeds)} simulations ran in ${number(seconds)} s, at commits ${commits.join(', ')}; ${failed.length} failed.

${table(['injected fault', 'meaning', 'times'], explained(faults, faultMeanings))}

${table(['count', 'meaning', 'number'], explained(seen, countMeanings))}

The longest time for which an acknowledged signal and a matching wait coexisted is ${number(tally.maxOverlapMs / 1_000)} s.${
    failed.length === 0 ? '' : `\n\n${failed.map(({ seed, message }) => `- seed ${seed}: ${message}`).join('\n')}`
  }${earlier.length === 0 ? '' : `\n\n${earlierPart(earlier)}`}`;
}

const sumOf = (devKit: DevKitSeeds | undefined, name: 'seeds' | 'failed'): number =>
  (devKit?.rows ?? []).reduce((sum, row) => sum + row[name], 0);

function devKitPart({ devKit }: Reports): string {
  const head = `## Simulations of runs of the Workflow DevKit

A simulation has five runs. An application of the test stands for the SDK: it replays the events as the code of version 4 (a message for each
step) or 5 (steps inside of the message) does, and calls the real World of \`lib/service\`. Its plans have steps in sequence and in parallel,
retries, sleeps, hooks with payloads, tokens that two runs want, attributes, and results and payloads in the log and in the bucket. Clients start, resume and
cancel, and write and read streams, of which some chunks are in the bucket too. The judges check that the positions of
events are dense, that each step, hook and wait has one life, that a token has one live hook, that an application reads what the log has (a value of the bucket by its digest),
that a refusal has its reason in the log, that an open run with something to do gets a message, that each written chunk of a stream has at most one index, and that all readers
read the same chunks. Uploads by presigned URL, encryption and the SDK itself are not simulated: \`test/devkit\` runs them. A part of the deep tier crashes one run at each of its calls.`;
  if (devKit === undefined) return `${head} ${notYet}`;
  const { commit, seconds, rows } = devKit;
  return `${head}

${number(sumOf(devKit, 'seeds'))} simulations ran in ${number(seconds)} s at commit ${commit}; ${sumOf(devKit, 'failed')} failed.

${table(
  ['faults', 'seeds', 'commits', 'hooks resumed', 'tokens refused', 'chunks read', 'large values read'],
  rows.map((row) => [row.faults, row.seeds, row.commits, row.received, row.conflicts, row.chunksRead, row.largeRead]),
)}`;
}

type Earlier = z.output<typeof seedsSchema>['earlier'];

const earlierPart = (
  earlier: Earlier,
): string => `Earlier simulations had other faults or other random workflows. The sums above leave them out:

${table(
  ['commits', 'seeds', 'seconds', 'failed'],
  earlier.map(({ commits, seeds, seconds, failed }) => [commits.join(', '), seeds, seconds, failed]),
)}`;

const faultMeanings: Readonly<Record<FaultKind, string>> = {
  crashBefore: 'the process crashes before a port call',
  crashAfter: 'the process crashes after a port call, before it gets the response',
  refused: 'a request fails and has no effect',
  throttled: 'a store refuses all requests for up to four seconds',
  lostAnswer: 'a request takes effect and its response is lost',
  slow: 'a request takes effect up to 20 s late',
  frozen: 'a process pauses for up to 20 minutes',
  wrongClock: 'the clock of a process is wrong from its start',
  clockJump: 'the clock of a running process jumps',
  torn: 'a read misses a commit that a later commit follows',
  stale: 'a listing returns an earlier state',
  duplicate: 'a message is delivered twice at the same time',
  late: 'a message is delayed by up to two minutes',
  reordered: 'a message arrives after the next message of its queue',
  partlySent: 'a part of a batch of messages is not sent',
  lostDelivery: 'the receiver of a message crashes before its first call',
  undeleted: 'the message of a completed job is not deleted, and is redelivered',
  redriven: 'an operator moves a dead letter back to its queue',
  partlyFailed: 'a part of a received batch is redelivered',
  stood: 'a batch queue has no receiver for up to half a minute',
  lostTimer: 'a timer does not fire',
  earlyTimer: 'a timer fires early',
  lateTimer: 'a timer fires late',
  doubleTimer: 'a timer fires twice',
  deployed: 'the functions are deployed again, and running ones continue beside the new ones',
  keyless: 'a client repeats a request without its idempotency key',
  askedAgain: 'a client with a response repeats its request with its key',
  keyReused: 'a client sends another request with the same key',
  cancelled: 'a client cancels its run',
};

type Counts = Omit<
  SimulationReport,
  'counts' | 'maxOverlapMs' | 'maxStallMs' | 'maxBehindMs' | 'summary' | 'history' | 'together'
>;

const countMeanings: Readonly<Record<keyof Counts, string>> = {
  slicesSpent: 'time slices that attempts used up',
  provenSlicesSpent: 'time slices that attempts of proven nodes used up',
  repeatSlicesSpent: 'time slices that attempts used up after another one of the same node',
  calls: 'port calls',
  commits: 'commits',
  resumptions: 'runs resumed',
  happened: 'events of the simulation',
  partialBatches: 'batches of which a part was redelivered',
  woken: 'nodes that a client woke early',
  signalsSent: 'signals sent',
  signalsGiven: 'signals delivered to a wait',
  waitsUnmet: 'waits that ended without a signal',
  eventsRead: 'events read by readers that reconnect',
  seenAgain: 'events read a second time',
  seenLive: 'events read by a waiting reader',
  lostAttempts: 'attempts that ended as lost after crashes of their workers',
  overBudget: 'runs ended by their budget',
  packed: 'executions of idempotent nodes before the commit that dispatched them',
  acquiredSlot: 'runs that acquired a concurrency slot',
  awaitedSlot: 'runs that waited for a concurrency slot',
  inPasses: 'events of nodes inside loop iterations',
  executions: 'attempts of nodes and step functions',
  repeated: 'attempts that ran more than once',
  rolledBack: 'rollbacks',
  foretold: 'code runs whose result equals the predicted result',
  answered: 'graph nodes that received the right input',
  outOfTime: 'processes ended by the time limit of their function',
  pastDeadline: 'runs ended by their deadline',
  extensions: 'extensions of deadlines',
  tookMs: 'virtual time in ms',
  foldsCompared: 'stored folds compared with their logs',
  judged: 'graph nodes compared with their edges',
};

/** Amounts with the meaning of each; a name of an earlier report without a known meaning has none. */
const explained = (
  amounts: Readonly<Record<string, number>>,
  meanings: Readonly<Record<string, string>>,
): readonly (readonly [string, string, number])[] =>
  sorted(amounts).map(([name, amount]) => [name, meanings[name] ?? '', amount]);

const sorted = (amounts: Readonly<Record<string, number>>): readonly (readonly [string, number])[] =>
  Object.entries(amounts).toSorted(([one], [other]) => (one < other ? -1 : 1));

function wholeOf(matrix: Reports['matrix']): MatrixRow {
  const whole = emptyMatrixRow();
  for (const row of Object.values(matrix?.groups ?? {})) addMatrixRow(whole, row);
  return whole;
}

function matrixPart({ matrix }: Reports): string {
  const head = `## Crash matrix

The matrix runs each workflow of the corpus once without a crash and counts its port calls. Then it runs the workflow twice for each call, with a crash before the call
and with a crash after it. The run and each of its nodes must reach the same end and keep every invariant. One difference is allowed: when the result of a run cancels a
code step between two attempts, the step may have failed instead, if the log shows that all of its attempts failed by themselves. A step that fails
with an attempt left is a violation.`;
  if (matrix === undefined) return `${head} ${notYet}`;
  return `${head} It took ${number(matrix.seconds)} s, at commits ${matrix.commits.join(', ')}.

${table(
  ['group', 'workflows', 'calls', 'crashes', 'covered', 'violations'],
  [...Object.entries(matrix.groups), ['all', wholeOf(matrix)] as const].map(
    ([group, { workflows, calls, crashes, aimed, struck, violations }]) => [
      group,
      workflows,
      calls,
      crashes,
      `${aimed === 0 ? 0 : Math.floor((100 * struck) / aimed)} %`,
      violations.length,
    ],
  ),
)}

The end of ${Object.keys(matrix.byChance).length} of the ${matrix.corpus} workflows depends on timing, and a crash may change it. They must keep the invariants; their ends are not compared:

${table(['workflow', 'why'], Object.entries(matrix.byChance))}`;
}

function pairsPart({ matrix, pairs }: Reports): string {
  const head = `## Pairs of crashes

Each run of the crash matrix is repeated with a second crash at each call after the first crash.`;
  if (pairs === undefined) return `${head} ${notYet}`;
  const { workflows, pairs: all, aimed, struck, violations } = wholeOf(pairs);
  return `${head} ${workflows} of the ${pairs.corpus} workflows with at most ${pairs.maxCallsForPairs} port calls ran, in ${number(pairs.seconds)} s, at commits ${pairs.commits.join(', ')}.

${table(
  ['what', 'number'],
  [
    ['pairs of crashes', all],
    ['planned crashes, including the single ones', aimed],
    ['crashes that happened', struck],
    ['violations', violations.length],
  ],
)}

A planned crash does not happen when a process makes two calls at the same time and crashes at the first one.

After two crashes, the end of ${Object.keys(pairs.byChance).length} workflows of the corpus depends on timing. They must keep the invariants; their ends are not compared. In addition to the workflows above:

${table(
  ['workflow', 'why'],
  Object.entries(pairs.byChance).filter(([name]) => matrix?.byChance[name] === undefined),
)}`;
}

function bugsPart({ bugs }: Reports): string {
  const missed = bugs.filter(({ seed }) => seed === undefined);
  const seedOf = new Map(bugs.map(({ name, seed }) => [name, seed]));
  const commits = [...new Set(bugs.flatMap(({ commit }) => (commit === undefined ? [] : [commit])))];
  const green = bugs.filter((bug) => bug.seed !== undefined && bug.green === bug.seed).length;
  return `## Planted bugs

Each bug is one edit of the sources, tested in a process of its own. The simulation must report a violation within the given number of seeds.
At the same seeds, the unchanged sources must pass: they do for ${green} of the caught bugs. An invariant of the simulation reports a bug, or an
assertion of the product itself.
${commits.length === 0 ? '' : `The bugs were planted at commits ${commits.join(', ')}. `}Of ${bugs.length} planted bugs, ${missed.length === 0 ? 'all are caught' : `${missed.length} are not caught: ${missed.map(({ name }) => name).join('; ')}`}.

A protocol of logs, queues and timers has twelve known failure scenarios. For each, at least one planted bug removes the rule that prevents it:

${table(
  ['scenario', 'planted bugs that remove the rule (seed)'],
  bugScenarios.map(({ description, bugs: by }) => [
    description,
    by.map((name) => `${name} (${seedOf.get(name) ?? 'not caught'})`).join('; '),
  ]),
)}

All planted bugs:

${table(
  ['planted bug', 'seed', 'limit of seeds', 'reported by'],
  bugs.map(({ name, seed, within, by }) => [name, seed ?? 'not caught', within, by ?? '']),
)}`;
}

function killsPart({ kills }: Reports): string {
  const head = `## Real kills

The command starts the embedded cloud like \`npm start\`, puts load on it and kills it with SIGKILL: the whole process or the thread of one function.
It then starts the cloud again on the stored data. A separate process reads the tables and checks the same invariants.`;
  if (kills === undefined) return `${head} ${notYet}`;
  const { whole, threads } = kills.kills;
  return `${head} It ran ${number(kills.seconds)} s, at commits ${kills.commits.first} to ${kills.commits.last}.

${table(
  ['what', 'number'],
  [
    ['kills of the whole process', whole],
    ...sorted(threads).map(([name, times]) => [`kills of a thread: ${name}`, times]),
    ['runs started', kills.runs.started],
    ...sorted(kills.runs.ended).map(([status, runs]) => [`runs that ended as ${status}`, runs]),
    ['commits read', kills.commitsRead],
    ['effects counted by the called service', kills.effects.counted],
    ['repeated effects of the same attempt', kills.effects.repeated],
    ['runs whose result equals the predicted result', kills.foretold],
    ['events read by readers that reconnect', kills.eventsRead],
    ['longest time in s from the last kill of a round until all runs end', kills.longestToRest.seconds],
    ['violations', kills.violations.length],
  ],
)}`;
}

function mutantsInSample(mutants: Mutants | undefined): string {
  return mutants?.sample === undefined ? '0' : `${number(mutants.sample.killed)} of ${number(mutants.sample.mutants)} killed`;
}

function samplePart(sample: Mutants['sample']): string {
  if (sample === undefined) return 'No random sample was taken yet (`npm run mutants -- --sample 200`).';
  const { date, commit, asked, seed, seconds, population, mutants, killed, isAgainstAll } = sample;
  const [low, high] = intervalOf(sample).map((part) => `${number(100 * part)} %`);
  return `A random sample of all files takes minutes, and a count of them hours.
The last sample (\`npm run mutants -- --sample ${asked} --seed ${seed}\`, ${date}, commit ${commit}, ${number(seconds)} s) drew ${number(mutants)} of ${number(population)}
mutants; the tests killed ${number(killed)} of them, including time-outs. So between ${low} and ${high} of all mutants are killed, with 95 % confidence. ${
    isAgainstAll
      ? 'Each survivor of the areas ran against all tests.'
      : 'Survivors ran against the tests of the areas only, so this is a lower bound.'
  }`;
}

function mutantsPart({ mutants }: Reports): string {
  const head = `## Mutants of the engine

Stryker makes one change at a time in \`lib/engine\`, and a test of the engine must fail.`;
  if (mutants === undefined) return `${head} ${notYet}`;
  const modules = Object.groupBy(Object.entries(mutants.files), ([file]) =>
    file.split('/').slice(0, 3).join('/').replace(/\.ts$/, ''),
  );
  const rows = Object.entries(modules).map(([module, files = []]) => {
    const of = (what: 'mutants' | 'killed' | 'timedOut' | 'survived' | 'noCoverage') =>
      files.reduce((sum, [, file]) => sum + file[what], 0);
    return [module, files.length, of('mutants'), of('killed'), of('timedOut'), of('survived'), of('noCoverage')];
  });
  const toShow = Object.values(mutants.files).filter(
    ({ isAgainstAll, survived, noCoverage }) => isAgainstAll === undefined && survived + noCoverage > 0,
  );
  return `${head} ${samplePart(mutants.sample)}

The last count of whole files, of ${mutants.date}, took ${number(mutants.seconds)} s. A mutant that
survives the tests of its own area runs against all tests of the engine and the service and against some simulations. The command prints the mutants that
survive those too. Files may have changed since their count. This second step is open for ${toShow.length} of the ${mutants.totals.files} files; there, each mutant that survives its area counts as a survivor.

${table(['module', 'files', 'mutants', 'killed', 'timed out', 'survived', 'not covered'], rows)}`;
}

const modelPart = `## The model, and two sets of adapters

docs/MODEL.md describes the properties of the Quint model and the rules that were removed from it as a test. Histories of this simulation are walks of the model.
The topologies run on \`lib/memory\` and on the AWS adapters over an emulator, and both must give the golden history of each topology.
For the other workflows of the corpus, each response of a memory store is compared with the response of its AWS adapter
(\`npx vitest run --project conformance\`).`;

function foundPart({ found, regressionSeeds }: Reports): string {
  return `## Bugs found and fixed

${table(
  ['found by', 'bug', 'fix', 'regression test'],
  found.map(({ by, bug, fix, test }) => [by, bug, fix, test]),
)}

\`test/simulation/seeds\` holds the seeds that found a bug. They run with every change:

${table(
  ['seed', 'faults', 'bug'],
  regressionSeeds.map(({ seed, faultProfile, found: what }) => [String(seed), faultProfile, what]),
)}`;
}
