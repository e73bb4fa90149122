/**
 * `npm run planted-bugs` searches for each planted bug and records the seed and the violation that detected it, and that the
 * same seeds pass without the bug. `-- --missing` searches only for bugs without a current row in the report. `-- --recheck`
 * tries each bug at its recorded seed, and searches again for those that do not show there any more: a change of the engine
 * moves them to other seeds. `-- wake` searches only for bugs with that word in their names and records nothing.
 */
import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { writeReport } from '../reports.ts';
import { writeProof } from '../write-proof.ts';
import { type PlantedBug, fingerprint } from './bug.ts';
import { type Found, findBug } from './find-bug.ts';
import { plantedBugs } from './all-bugs.ts';
import { type Report, isOf, readBugReport } from './report.ts';

const [word] = process.argv.slice(2);
const isRecheck = word === '--recheck';
const isUpdate = word === '--missing' || isRecheck;
const isWhole = word === undefined || isUpdate;
const asked = plantedBugs.filter(({ name }) => isWhole || name.includes(word));
const known = isUpdate ? readBugReport() : [];
const waiting = asked.filter((bug) => isRecheck || !known.some((row) => isOf(bug, row)));
const found = new Map<string, Found>();
const commit = execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { encoding: 'utf8' }).trim();

/** @returns `broke` too where something shows without the bug */
async function redAndGreen(bug: PlantedBug): Promise<Found> {
  // What is cut besides must not show by itself.
  if (bug.and !== undefined) {
    const besides = await findBug(bug, { planted: 'besides' });
    if (besides.kind !== 'survived')
      return { ...besides, kind: 'broke', by: `what is cut with it shows by itself: ${besides.by}` };
  }
  const came = await findBug(bug);
  if (came.kind !== 'caught') return came;
  const clean = await findBug(bug, { planted: 'nothing', to: came.seed });
  return clean.kind === 'survived' ? came : { ...clean, kind: 'broke', by: `without the bug: ${clean.by}` };
}

/** Whether the bug shows at its recorded seed. */
async function stillShows(bug: PlantedBug): Promise<boolean> {
  const seed = known.find((row) => isOf(bug, row))?.seed;
  return seed !== undefined && (await findBug(bug, { from: seed, to: seed })).kind === 'caught';
}

async function work(): Promise<void> {
  for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
    if (isRecheck && (await stillShows(bug))) {
      console.log(`${bug.name}: shows at its recorded seed`);
      continue;
    }
    const came = await redAndGreen(bug);
    found.set(bug.name, came);
    if (isWhole) writeReport('planted-bugs', reported());
    console.log(`${bug.name}: ${came.kind} at seed ${came.seed} of ${bug.within}${'by' in came ? `, ${came.by}` : ''}`);
  }
}

await Promise.all(Array.from({ length: availableParallelism() }, work));
if (isWhole) writeProof();
const report = reported();
console.table(Object.fromEntries(report.map(({ name, ...rest }) => [name, rest])));
const missed = report.filter(({ seed }) => seed === undefined);
console.log(`${report.length} bugs, ${missed.length} not caught`);
if (missed.length > 0) process.exitCode = 1;

function reported(): Report {
  return asked.map((bug) => {
    const { name, within } = bug;
    const came = found.get(name);
    const before = known.find((row) => isOf(bug, row));
    if (came === undefined && before !== undefined) return { ...before, within };
    if (came?.kind !== 'caught') return { name, within };
    return { name, within, seed: came.seed, by: ruleIn(came.by), green: came.seed, made: fingerprint(bug), commit };
  });
}

/** The number of the violated invariant; the message is printed when the bug is found. */
function ruleIn(message: string): string {
  return /^invariant \d+/.exec(message)?.[0] ?? 'assertion';
}
