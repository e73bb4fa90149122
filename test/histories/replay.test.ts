/** Recorded histories are replayed: the code issues the same commands and has the same result. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import { replayVersion } from '../../lib/engine/durable/command-batch.ts';
import { replayOnly } from '../program/replay-only.ts';
import { type RecordedHistory, summaryOf } from './recorded-history.ts';
import { programs } from './programs.ts';

const here = fileURLToPath(new URL('./', import.meta.url));

/** Written by `record.ts` alone; an invalid file fails its replay. */
const recordedHistory = z.custom<RecordedHistory>(
  (value) => z.looseObject({ program: z.string(), workflowTasks: z.array(z.unknown()).min(1) }).safeParse(value).success,
);

const historiesOf = (version: number) =>
  globSync(`${here}replay-${version}/*.json`)
    .toSorted()
    .map((path) => [basename(path, '.json'), recordedHistory.parse(JSON.parse(readFileSync(path, 'utf8')))] as const);

test('each program has a history of each replay version', () => {
  for (let version = 1; version <= replayVersion; version += 1)
    expect(historiesOf(version).map(([name]) => name)).toEqual(Object.keys(programs).toSorted());
});

describe.each(Array.from({ length: replayVersion }, (_, index) => index + 1))('version %i', (version) => {
  test.each(historiesOf(version))('%s', async (_name, { program, run, input, workflowTasks }) => {
    for (const { history, first } of workflowTasks) {
      const { turn, end } = await replayOnly([programs[program]?.workflow], history, { run, input });
      expect(end).toEqual({ kind: 'finished' });
      expect(summaryOf(turn ?? { entries: [] })).toEqual(first);
    }
  });
});
