/**
 * `npm run mutants` makes thousands of small changes to lib/engine and counts those that no test detects. It continues the
 * stored counts: first files without a count, then changed files, then files whose survivors ran against their area's tests
 * only, then files with changed tests. `npm run mutants -- lib/engine/retry` covers that path only; `--minutes 30` starts
 * nothing after that time; `--concurrency 2` uses more cores. `--sample 200 --seed 7` tries about 200 random mutants of all files.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from '../../scripts/options.ts';
import { writeProof } from '../simulation/write-proof.ts';
import { type Area, areas, everyTest } from './areas.ts';
import { reportText } from '../simulation/reports.ts';
import { type Report, type Sample, reportOf, reportSchema } from './report.ts';
import { type Survivor, type Tried, nameOf, tryAgain, tryMutants } from './try-mutants.ts';

const root = join(import.meta.dirname, '..', '..');
const countFile = join(root, 'test', 'simulation', 'proof', 'mutants.json');

/** Lines of code that are tried together: the tests are run once for all of them before the first mutant is. */
const linesTogether = 450;

interface Due {
  readonly path: string;
  readonly area: Area;
  readonly source: string;
  readonly tests: string;
  readonly lines: number;
  /** how pressing it is, from 0 */
  readonly rank: number;
}

const { minutes, concurrency, positionals, sample, seed } = parseOptionsOrExit({
  usage: 'usage: npm run mutants -- [--sample <n> [--seed <n>]] [--minutes <n>] [--concurrency <n>] [<beginnings of paths> …]',
  allowPositionals: true,
  options: {
    minutes: { type: 'string' },
    concurrency: { type: 'string', default: '1' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
  shape: z.object({
    minutes: wholeNumber.exactOptional(),
    concurrency: wholeNumber,
    sample: wholeNumber.exactOptional(),
    seed: wholeNumber,
    positionals: z.array(z.string()),
  }),
});

const until = Date.now() + (minutes ?? Infinity) * 60_000;
if (sample === undefined) {
  for (const batch of batches(dueFiles())) {
    if (Date.now() >= until) break;
    await count(batch);
  }
  console.log(countedSoFar().totals);
} else console.log(await countSample(sample));
writeProof();

function countedSoFar(): Report {
  return reportSchema.parse(JSON.parse(readFileSync(countFile, 'utf8')));
}

function write(report: Report): void {
  writeFileSync(countFile, reportText(report));
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function headCommit(): string {
  return execFileSync('git', ['rev-parse', '--short=10', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
}

function dueFiles(): readonly Due[] {
  const counted = countedSoFar().files;
  const testHashes = new Map(areas.map(({ tests }) => [tests, hashOf(pathsOf(tests).map(textOf).join('\0'))]));
  return pathsOf(['lib/engine/**/*.ts'])
    .filter((path) => positionals.length === 0 || positionals.some((wanted) => path.startsWith(wanted)))
    .flatMap((path) => {
      const area = areas.find((candidate) => path.startsWith(candidate.path));
      if (area === undefined) throw new Error(`no area has ${path}`);
      const text = textOf(path);
      const source = hashOf(text);
      const tests = testHashes.get(area.tests) ?? '';
      const rank = rankOf(counted[path], source, tests);
      return rank === undefined ? [] : [{ path, area, source, tests, lines: text.split('\n').length, rank }];
    })
    .toSorted((one, other) => one.rank - other.rank || areas.indexOf(one.area) - areas.indexOf(other.area));
}

function rankOf(counted: Report['files'][string] | undefined, source: string, tests: string): number | undefined {
  if (counted === undefined) return 0;
  if (counted.source !== source) return 1;
  if (counted.isAgainstAll === undefined && counted.survived + counted.noCoverage > 0) return 2;
  return counted.tests === tests ? undefined : 3;
}

/** Tries random mutants of all files at once: first with the tests of all areas, then what survives with all tests, if there is time. */
async function countSample(size: number): Promise<Sample> {
  const startedAt = performance.now();
  const paths = pathsOf(['lib/engine/**/*.ts']);
  const options = { concurrency, sample: { seed, part: size / countedSoFar().totals.mutants } };
  const tried = await tryMutants(paths, [...new Set(areas.flatMap(({ tests }) => tests))], options);
  const counts = [...tried.values()].map((each) => each.counts);
  const sumOf = (of: 'mutants' | 'broken'): number => counts.reduce((total, each) => total + each[of], 0);
  const outside = [...tried.values()].reduce((total, each) => total + each.outside, 0);
  const left = [...tried].flatMap(([source, { survivors }]) => survivors.map((survivor) => ({ source, survivor })));
  const asksAll = left.length > 0 && Date.now() < until;
  const still = asksAll ? await tryAgain(left, everyTest, options) : undefined;
  const alive = still === undefined ? left.length : [...still.values()].reduce((total, each) => total + each.length, 0);
  const judged = sumOf('mutants') - sumOf('broken');
  const counted: Sample = {
    date: today(),
    commit: headCommit(),
    asked: size,
    seed,
    seconds: Math.round((performance.now() - startedAt) / 1_000),
    population: sumOf('mutants') + outside,
    mutants: judged,
    killed: judged - alive,
    isAgainstAll: still !== undefined || left.length === 0,
  };
  const before = countedSoFar();
  write(reportOf({ ...before, sample: counted }, before.files));
  return counted;
}

function batches(due: readonly Due[]): readonly (readonly Due[])[] {
  const made: Due[][] = [];
  let lines = 0;
  for (const file of due) {
    const last = made.at(-1);
    const fits = last?.[0]?.area === file.area && last[0].rank === file.rank && lines + file.lines <= linesTogether;
    if (last !== undefined && fits) last.push(file);
    else made.push([file]);
    lines = fits ? lines + file.lines : file.lines;
  }
  return made;
}

async function count(batch: readonly Due[]): Promise<void> {
  const [first] = batch;
  if (first === undefined) return;
  const startedAt = performance.now();
  const commit = headCommit();
  const tried = await tryMutants(
    batch.map(({ path }) => path),
    first.area.tests,
    { concurrency },
  );
  const left = [...tried].flatMap(([source, { survivors }]) => survivors.map((survivor) => ({ source, survivor })));
  const still = left.length === 0 ? new Map<string, readonly Survivor[]>() : await tryAgain(left, everyTest, { concurrency });
  // Read again: another process may have counted another part.
  const before = countedSoFar();
  const files = { ...before.files };
  for (const { path, source, tests } of batch) {
    const result = tried.get(path);
    if (result === undefined) continue;
    const alive = still.get(path) ?? [];
    files[path] = { source, tests, commit, ...countsWith(result, alive), isAgainstAll: true };
    say(path, result.counts.mutants, alive);
  }
  const seconds = before.seconds + Math.round((performance.now() - startedAt) / 1_000);
  write(reportOf({ ...before, date: today(), seconds }, files));
}

/** What is found to be caught after all counts as caught, whether its area has a test that goes there or not. */
function countsWith({ counts }: Tried, alive: readonly Survivor[]): Tried['counts'] {
  const survived = alive.filter(({ isCovered }) => isCovered).length;
  const noCoverage = alive.length - survived;
  const caught = counts.survived + counts.noCoverage - alive.length;
  return { ...counts, killed: counts.killed + caught, survived, noCoverage };
}

function say(path: string, mutants: number, alive: readonly Survivor[]): void {
  console.log(`${path}: ${mutants} mutants, ${alive.length} alive`);
  for (const survivor of alive) console.log(`  ${path}:${nameOf(survivor)}`);
}

function pathsOf(globs: readonly string[]): readonly string[] {
  return globSync([...globs], { cwd: root })
    .map((path) => path.replaceAll('\\', '/'))
    .toSorted();
}

function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
