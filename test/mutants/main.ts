/**
 * `npm run mutants` makes thousands of small changes to lib/engine and counts those that no test detects. It continues the
 * stored counts: first files without a count, then changed files, then files whose survivors ran against their area's tests
 * only, then files with changed tests. `npm run mutants -- lib/engine/retry` covers that path only; `--minutes 30` starts
 * nothing after that time; `--concurrency 2` uses more cores.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { parseOptionsOrExit, wholeNumber } from '../../scripts/options.ts';
import { writeProof } from '../simulation/write-proof.ts';
import { type Area, areas, everyTest } from './areas.ts';
import { type Report, reportOf, reportSchema } from './report.ts';
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

const { minutes, concurrency, positionals } = parseOptionsOrExit({
  usage: 'usage: npm run mutants -- [--minutes <n>] [--concurrency <n>] [<beginnings of paths> …]',
  allowPositionals: true,
  options: { minutes: { type: 'string' }, concurrency: { type: 'string', default: '1' } },
  shape: z.object({ minutes: wholeNumber.exactOptional(), concurrency: wholeNumber, positionals: z.array(z.string()) }),
});

const until = Date.now() + (minutes ?? Infinity) * 60_000;
for (const batch of batches(dueFiles())) {
  if (Date.now() >= until) break;
  await count(batch);
}
writeProof();
console.log(countedSoFar().totals);

function countedSoFar(): Report {
  return reportSchema.parse(JSON.parse(readFileSync(countFile, 'utf8')));
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
  if (counted.alive === undefined && counted.survived + counted.noCoverage > 0) return 2;
  return counted.tests === tests ? undefined : 3;
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
  const commit = execFileSync('git', ['rev-parse', '--short=10', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim();
  const tried = await tryMutants(
    batch.map(({ path }) => path),
    first.area.tests,
    concurrency,
  );
  const left = [...tried].flatMap(([source, { survivors }]) => survivors.map((survivor) => ({ source, survivor })));
  const still = left.length === 0 ? new Map<string, readonly Survivor[]>() : await tryAgain(left, everyTest, concurrency);
  // Read again: another process may have counted another part.
  const before = countedSoFar();
  const files = { ...before.files };
  for (const { path, source, tests } of batch) {
    const result = tried.get(path);
    if (result === undefined) continue;
    const alive = still.get(path) ?? [];
    files[path] = { source, tests, commit, ...countsWith(result, alive), alive: alive.map(nameOf) };
    say(path, files[path]);
  }
  const seconds = before.seconds + Math.round((performance.now() - startedAt) / 1_000);
  writeFileSync(countFile, `${JSON.stringify(reportOf(seconds, files), undefined, 2)}\n`);
}

/** What is found to be caught after all counts as caught, whether its area has a test that goes there or not. */
function countsWith({ counts }: Tried, alive: readonly Survivor[]): Tried['counts'] {
  const survived = alive.filter(({ isCovered }) => isCovered).length;
  const noCoverage = alive.length - survived;
  const caught = counts.survived + counts.noCoverage - alive.length;
  return { ...counts, killed: counts.killed + caught, survived, noCoverage };
}

function say(path: string, { mutants, alive = [] }: Report['files'][string]): void {
  console.log(`${path}: ${mutants} mutants, ${alive.length} alive`);
  for (const name of alive) console.log(`  ${path}:${name}`);
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
