/**
 * Records the history of each program that has none for this replay version (`node test/histories/record.ts`). An existing file is
 * never overwritten.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { replayVersion } from '../../lib/engine/durable/replay-version.ts';
import { DrivenRun } from '../program/driven-run.ts';
import { replayOnly } from '../program/replay-only.ts';
import { type KeptHistory, firstOf } from './kept.ts';
import { programs } from './programs.ts';

const checkout = new URL('../..', import.meta.url).href;
const folder = fileURLToPath(new URL(`replay-${replayVersion}/`, import.meta.url));
mkdirSync(folder, { recursive: true });
for (const [program, { workflow, options = {}, play }] of Object.entries(programs)) {
  const path = `${folder}${program}.json`;
  if (existsSync(path)) continue;
  const run = new DrivenRun([workflow], options);
  const { input = null } = options;
  const histories: KeptHistory['drives'][number]['history'][] = [];
  run.onDrive = ({ history }) => void histories.push(history);
  await play(run);
  histories.push(run.history);
  const drives: KeptHistory['drives'][number][] = [];
  for (const history of histories) {
    const { turn, end } = await replayOnly([workflow], history, { run: run.facts, input });
    if (end.kind !== 'finished') throw new Error(`${program}: ${JSON.stringify(end)}`);
    drives.push({ history, first: firstOf(turn ?? { entries: [] }) });
  }
  const kept: KeptHistory = { program, run: run.facts, input, drives };
  // Stack traces contain file paths; the location of the checkout is irrelevant.
  writeFileSync(path, `${JSON.stringify(kept, null, 1).replaceAll(checkout, 'file:///project/')}\n`);
}
