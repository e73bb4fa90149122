/**
 * `npm run mutants` changes lib/engine in thousands of small ways and counts which of them no test notices. It goes on where the
 * counts stopped: first files never counted, then those whose text has changed, then those whose tests have. `npm run mutants --
 * lib/engine/retry` keeps to what lies there; `--minutes 30` begins nothing after that time; `--concurrency 2` uses more cores.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { writeProof } from '../simulation/write-proof.ts';
import { type Area, areas } from './areas.ts';
import { type Report, reportOf, reportSchema } from './report.ts';
import { type Tried, tryMutants } from './try-mutants.ts';

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

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { minutes: { type: 'string' }, concurrency: { type: 'string', default: '1' } },
});

const until = Date.now() + Number(values.minutes ?? Infinity) * 60_000;
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
  return counted.tests === tests ? undefined : 2;
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
    Number(values.concurrency),
  );
  // Read again: somebody may have counted another part meanwhile.
  const before = countedSoFar();
  const files = { ...before.files };
  for (const { path, source, tests } of batch) {
    const result = tried.get(path);
    if (result === undefined) continue;
    files[path] = { source, tests, commit, ...result.counts };
    say(path, result);
  }
  const seconds = before.seconds + Math.round((performance.now() - startedAt) / 1_000);
  writeFileSync(countFile, `${JSON.stringify(reportOf(seconds, files), undefined, 2)}\n`);
}

function say(path: string, { counts, survivors }: Tried): void {
  console.log(`${path}: ${counts.mutants} mutants, ${counts.survived} survived, ${counts.noCoverage} without a test`);
  for (const { line, column, mutator, replacement, isCovered } of survivors) {
    console.log(`  ${path}:${line}:${column} ${mutator}${isCovered ? '' : ' (no test)'} -> ${replacement}`);
  }
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
