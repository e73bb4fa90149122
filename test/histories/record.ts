/**
 * Records the history of each program that has none for this replay version (`node test/histories/record.ts`). An existing file is
 * never overwritten.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { replayVersion } from '../../lib/engine/durable/command-batch.ts';
import { DrivenRun } from '../program/driven-run.ts';
import { replayOnly } from '../program/replay-only.ts';
import { type RecordedHistory, summaryOf } from './recorded-history.ts';
import { programs } from './programs.ts';

const checkout = new URL('../..', import.meta.url).href;
const directory = fileURLToPath(new URL(`replay-${replayVersion}/`, import.meta.url));
mkdirSync(directory, { recursive: true });
for (const [program, { workflow, options = {}, play }] of Object.entries(programs)) {
  const path = `${directory}${program}.json`;
  if (existsSync(path)) continue;
  const run = new DrivenRun([workflow], options);
  const { input = null } = options;
  const histories: RecordedHistory['workflowTasks'][number]['history'][] = [];
  run.onDrive = ({ history }) => void histories.push(history);
  await play(run);
  histories.push(run.history);
  const workflowTasks: RecordedHistory['workflowTasks'][number][] = [];
  for (const history of histories) {
    const { turn, end } = await replayOnly([workflow], history, { run: run.facts, input });
    if (end.kind !== 'finished') throw new Error(`${program}: ${JSON.stringify(end)}`);
    workflowTasks.push({ history, first: summaryOf(turn ?? { entries: [] }) });
  }
  const recorded: RecordedHistory = { program, run: run.facts, input, workflowTasks };
  // Stack traces contain file paths; the location of the checkout is irrelevant.
  writeFileSync(path, `${JSON.stringify(recorded, null, 1).replaceAll(checkout, 'file:///project/')}\n`);
}
