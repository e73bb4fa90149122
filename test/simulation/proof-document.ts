/** docs/PROOF.md, made of the reports that the commands keep. The same reports make the same document. */
import type * as z from 'zod';
import { type KillCounts } from '../e2e/kills/count.ts';
import type { Report as Mutants } from '../mutants/report.ts';
import { type MatrixRow, addMatrixRow, emptyMatrixRow } from './crash-matrix.ts';
import type { Report as Bugs } from './planted-bugs/report.ts';
import { bugScenarios } from './planted-bugs/bug-scenarios.ts';
import type { foundSchema, matrixSchema, seedsSchema } from './reports.ts';

export interface Reports {
  readonly seeds: z.output<typeof seedsSchema> | undefined;
  readonly matrix: z.output<typeof matrixSchema> | undefined;
  /** the same with two crashes in each run */
  readonly pairs: z.output<typeof matrixSchema> | undefined;
  readonly bugs: Bugs;
  readonly kills: KillCounts | undefined;
  readonly mutants: Mutants | undefined;
  readonly found: z.output<typeof foundSchema>;
  readonly regressionSeeds: readonly { readonly seed: number; readonly faultProfile: string; readonly found: string }[];
}

const notYet = 'It has not been run yet.';

export function proofDocument(reports: Reports): string {
  return `${[
    preface,
    summary(reports),
    seedsPart(reports),
    matrixPart(reports),
    pairsPart(reports),
    bugsPart(reports),
    killsPart(reports),
    mutantsPart(reports),
    modelPart,
    foundPart(reports),
  ].join('\n\n')}\n`;
}

const preface = `# What was run, and what it showed

The ten invariants of a run (docs/ARCHITECTURE.md) and two more of the simulation are held against the real code of \`lib/service\` and
\`lib/engine\`. This page is written by the commands that it names, from the reports that they keep in
\`test/simulation/proof\`; \`npm run proof\` writes it from those that are there. What CI runs of it is in \`npm run test:deep\`: 5,000 seeds, 1,000 more that change
with the day and the commit, the whole crash matrix, the planted bugs that are found quickly and eight of the others, which change with the sources,
five kills, and the walks of the model.`;

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

function summary({ seeds, matrix, pairs, bugs, kills, mutants }: Reports): string {
  const caught = bugs.filter(({ seed }) => seed !== undefined).length;
  const whole = wholeOf(matrix);
  const twice = wholeOf(pairs);
  return table(
    ['what', 'by', 'how many', 'violations'],
    [
      ['seeded worlds', '`npm run simulate -- --go-on`', seeds?.tally.seeds ?? 0, seeds?.tally.failed.length ?? 0],
      ['crashes, one at each port call', '`npm run crash-matrix`', whole.crashes, whole.violations.length],
      ['pairs of crashes, of the small workflows', '`npm run crash-matrix -- --pairs 20`', twice.pairs, twice.violations.length],
      ['planted bugs', '`npm run planted-bugs`', `${caught} of ${bugs.length} caught`, '-'],
      ['real kills', '`npm run kills`', kills?.kills.all ?? 0, kills?.violations.length ?? 0],
      ['mutants of the engine', '`npm run mutants`', mutantsCaught(mutants), '-'],
    ],
  );
}

function mutantsCaught(mutants: Mutants | undefined): string {
  if (mutants === undefined) return '0';
  const { killed, timedOut, mutants: all } = mutants.totals;
  return `${number(killed + timedOut)} of ${number(all)} killed`;
}

function seedsPart({ seeds }: Reports): string {
  const head = `## Seeded worlds

One seed is one world: real service and engine, simulated ports, virtual time, one source of chance. \`npm run simulate -- --seed 42\`
replays one, byte for byte. They are of three runs in rough weather; behind the 5,000 of CI every fifth has places, a budget, called runs that somebody
cancels, or eight runs of which nothing goes wrong, so that the stricter judges look on (\`test/simulation/options-of-seed.ts\`).`;
  if (seeds === undefined) return `${head} ${notYet}`;
  const { tally, seconds, commits, earlier } = seeds;
  const { faults, seen, failed } = tally;
  return `${head} ${number(tally.seeds)} were run in ${number(seconds)} s, of commits ${commits.join(', ')}; ${failed.length} failed.

${table(['fault', 'times'], sorted(faults))}

${table(['what the checker saw', 'number'], sorted(seen))}

An acknowledged signal and a wait that it fits were there beside each other for ${number(tally.maxOverlapMs / 1_000)} s at most.${
    failed.length === 0 ? '' : `\n\n${failed.map(({ seed, message }) => `- seed ${seed}: ${message}`).join('\n')}`
  }${earlier.length === 0 ? '' : `\n\n${earlierPart(earlier)}`}`;
}

type Earlier = z.output<typeof seedsSchema>['earlier'];

const earlierPart = (
  earlier: Earlier,
): string => `Before, when other faults were injected or other workflows drawn, so that they are not in the sum:

${table(
  ['commits', 'seeds', 'seconds', 'failed'],
  earlier.map(({ commits, seconds, tally }) => [commits.join(', '), tally.seeds, seconds, tally.failed.length]),
)}`;

const sorted = (amounts: Readonly<Record<string, number>>): readonly (readonly [string, number])[] =>
  Object.entries(amounts).toSorted(([one], [other]) => (one < other ? -1 : 1));

function wholeOf(matrix: Reports['matrix']): MatrixRow {
  const whole = emptyMatrixRow();
  for (const rows of Object.values(matrix?.groups ?? {})) for (const row of Object.values(rows)) addMatrixRow(whole, row);
  return whole;
}

function matrixPart({ matrix }: Reports): string {
  const head = `## Crash matrix

Each workflow of the corpus is run once, and its port calls are counted; then once for each call with a crash before it, and once with a
crash after it. It must come to the same end, as a whole and node by node, and hold every invariant on its way. One node may differ: a
step of code that is cancelled between two of its tries, when its run is decided, may have failed instead where the log shows that
it has spent all of them by its own failures. A step that failed by itself with a try left is a violation, whatever came of its run.`;
  if (matrix === undefined) return `${head} ${notYet}`;
  const rows = Object.entries(matrix.groups).map(([group, of]) => {
    const sum = emptyMatrixRow();
    for (const row of Object.values(of)) addMatrixRow(sum, row);
    return [group, sum] as const;
  });
  return `${head} ${number(matrix.seconds)} s, of commits ${matrix.commits.join(', ')}.

${table(
  ['group', 'workflows', 'calls', 'crashes', 'covered', 'violations'],
  [...rows, ['all of them', wholeOf(matrix)] as const].map(
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

Of ${Object.keys(matrix.byChance).length} of the ${matrix.corpus} workflows time decides the end, so that a crash may lead them elsewhere; they are held to the invariants alone:

${table(['workflow', 'why'], Object.entries(matrix.byChance))}`;
}

function pairsPart({ matrix, pairs }: Reports): string {
  const head = `## Pairs of crashes

The same with a second crash at each call that came after the first.`;
  if (pairs === undefined) return `${head} ${notYet}`;
  const { workflows, pairs: all, aimed, struck, violations } = wholeOf(pairs);
  return `${head} Of the ${pairs.corpus} workflows with ${pairs.maxCallsForPairs} port calls or fewer ${workflows} were run, in ${number(pairs.seconds)} s, of commits ${pairs.commits.join(', ')}.

${table(
  ['what', 'number'],
  [
    ['pairs of crashes', all],
    ['crashes that were aimed, the single ones among them', aimed],
    ['of these struck', struck],
    ['violations', violations.length],
  ],
)}

A crash that did not strike was aimed at the later of two calls that one process had made at once, and it had died after the first.

Time decides of ${Object.keys(pairs.byChance).length} of the corpus where they end after two crashes; they are held to the invariants alone. Beside those above these are:

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

Each is an edit of a source, alone, in a process of its own; the simulation has to fall over it within so many seeds. Then the sources
as they are have to hold in the same worlds, at every seed up to that one: so they do for ${green} of those that are caught.
${commits.length === 0 ? '' : `Planted in the sources of commits ${commits.join(', ')}. `}${bugs.length} are planted, ${missed.length === 0 ? 'all are caught' : `${missed.length} are not caught: ${missed.map(({ name }) => name).join('; ')}`}.

The twelve ways in which a protocol of logs, queues and timers was known to break, each red without its rule:

${table(
  ['scenario', 'the rule is taken away by: (seed)'],
  bugScenarios.map(({ description, bugs: by }) => [
    description,
    by.map((name) => `${name} (${seedOf.get(name) ?? 'not caught'})`).join('; '),
  ]),
)}

All of them:

${table(
  ['bug', 'seed', 'within', 'by'],
  bugs.map(({ name, seed, within, by }) => [name, seed ?? 'not caught', within, by ?? '']),
)}`;
}

function killsPart({ kills }: Reports): string {
  const head = `## Real kills

The embedded cloud, as \`npm start\` starts it, works under load and is killed with SIGKILL: all of it, or the thread of one function.
It is started again on what it left, and a reader outside of it judges the tables by the same invariants.`;
  if (kills === undefined) return `${head} ${notYet}`;
  const { whole, threads } = kills.kills;
  return `${head} Commits ${kills.commits.first} to ${kills.commits.last}, ${number(kills.seconds)} s.

${table(
  ['what', 'number'],
  [
    ['kills of everything at once', whole],
    ...sorted(threads).map(([name, times]) => [`kills of a thread: ${name}`, times]),
    ['runs started', kills.runs.started],
    ...sorted(kills.runs.ended).map(([status, runs]) => [`runs that ended as ${status}`, runs]),
    ['commits read', kills.commitsRead],
    ['effects counted outside', kills.effects.counted],
    ['effects of an attempt beyond its first', kills.effects.repeated],
    ['runs that came to what was known beforehand', kills.foretold],
    ['events read by readers who come and go', kills.eventsRead],
    ['seconds from the last kill of a round to rest, at most', kills.longestToRest.seconds],
    ['violations', kills.violations.length],
  ],
)}`;
}

function mutantsPart({ mutants }: Reports): string {
  const head = `## Mutants of the engine

Stryker changes \`lib/engine\` in one place at a time, and the tests of the engine have to turn red.`;
  if (mutants === undefined) return `${head} ${notYet}`;
  const rooms = Object.groupBy(Object.entries(mutants.files), ([file]) =>
    file.split('/').slice(0, 3).join('/').replace(/\.ts$/, ''),
  );
  const rows = Object.entries(rooms).map(([room, files = []]) => {
    const of = (what: 'mutants' | 'killed' | 'timedOut' | 'survived' | 'noCoverage') =>
      files.reduce((sum, [, file]) => sum + file[what], 0);
    return [room, files.length, of('mutants'), of('killed'), of('timedOut'), of('survived'), of('noCoverage')];
  });
  const toShow = Object.values(mutants.files).filter(
    ({ alive, survived, noCoverage }) => alive === undefined && survived + noCoverage > 0,
  );
  return `${head} ${number(mutants.seconds)} s for the files that are listed in the report. Whoever
survives the tests of its own area is shown to all tests of the engine and of the service and to some worlds of this simulation, and is named in the report where those
do not notice it either; of ${toShow.length} of the ${mutants.totals.files} files that is still to be done, and all that their areas let through count as survivors.

${table(['room', 'files', 'mutants', 'killed', 'timed out', 'survived', 'no test goes there'], rows)}`;
}

const modelPart = `## The model, and two adapters

docs/MODEL.md says what the model in Quint holds, which of its rules were taken away, and that histories of this simulation are walks of it.
The corpus of topologies runs on \`lib/memory\` and on the adapters of AWS over an emulator, and both must write the golden history of each;
for the other workflows of the corpus each answer of a store in memory is held against that of its adapter of AWS
(\`npx vitest run --project conformance\`).`;

function foundPart({ found, regressionSeeds }: Reports): string {
  return `## What was found, and how it was mended

${table(
  ['by', 'what was wrong', 'how it was mended', 'where it stays'],
  found.map(({ by, what, mended, kept }) => [by, what, mended, kept]),
)}

Seeds that found something are kept under \`test/simulation/seeds\`, and run with every change:

${table(
  ['seed', 'weather', 'what it found'],
  regressionSeeds.map(({ seed, faultProfile, found: what }) => [String(seed), faultProfile, what]),
)}`;
}
