/**
 * `npm run planted-bugs` looks for each planted bug and writes down by which seed and which rule it was seen;
 * `-- --missing` looks only for those that the report does not say to be caught; `-- wake` looks only for those with that word in their names, and writes nothing.
 */
import { availableParallelism } from 'node:os';
import { writeReport } from '../reports.ts';
import { writeProof } from '../write-proof.ts';
import { type Found, findBug } from './find-bug.ts';
import { plantedBugs } from './list.ts';
import { type Report, knownReport } from './report.ts';

const [word] = process.argv.slice(2);
const isWhole = word === undefined || word === '--missing';
const asked = plantedBugs.filter(({ name }) => isWhole || name.includes(word));
const known = word === '--missing' ? knownReport() : [];
const isKnown = (name: string): boolean => known.some((entry) => entry.name === name && entry.seed !== undefined);
const waiting = asked.filter(({ name }) => !isKnown(name));
const found = new Map<string, Found>();

async function work(): Promise<void> {
  for (let bug = waiting.shift(); bug !== undefined; bug = waiting.shift()) {
    // What is cut besides must not show by itself.
    const alone: Found = bug.and === undefined ? { kind: 'survived', seed: 0 } : await findBug(bug, false);
    const came = alone.kind === 'survived' ? await findBug(bug) : { ...alone, kind: 'broke' as const };
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
  return asked.map(({ name, within }) => {
    const came = found.get(name);
    const before = known.find((entry) => entry.name === name);
    if (came === undefined && before !== undefined) return before;
    return { name, within, ...(came?.kind === 'caught' ? { seed: came.seed, by: ruleIn(came.by) } : {}) };
  });
}

/** Ids differ from seed to seed and say nothing. */
function ruleIn(message: string): string {
  return message.replaceAll(/wrun_[0-9A-Z]+/g, 'a run').slice(0, 160);
}
