/** Histories that were recorded once are replayed for ever: the code asks for the same, and comes to the same. */
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { describe, expect, test } from 'vitest';
import { replayVersion } from '../../lib/engine/durable/replay-version.ts';
import { replayOnly } from '../program/replay-only.ts';
import { type KeptHistory, firstOf } from './kept.ts';
import { programs } from './programs.ts';

const here = fileURLToPath(new URL('./', import.meta.url));

/** Written by `record.ts` alone; whatever is wrong in one shows when it is replayed. */
const keptHistory = z.custom<KeptHistory>(
  (value) => z.looseObject({ program: z.string(), drives: z.array(z.unknown()).min(1) }).safeParse(value).success,
);

const keptIn = (version: number) =>
  globSync(`${here}replay-${version}/*.json`)
    .toSorted()
    .map((path) => [basename(path, '.json'), keptHistory.parse(JSON.parse(readFileSync(path, 'utf8')))] as const);

test('each program has a history of each version of replays', () => {
  for (let version = 1; version <= replayVersion; version += 1)
    expect(keptIn(version).map(([name]) => name)).toEqual(Object.keys(programs).toSorted());
});

describe.each(Array.from({ length: replayVersion }, (_, index) => index + 1))('version %i', (version) => {
  test.each(keptIn(version))('%s', async (_name, { program, run, input, drives }) => {
    for (const { history, first } of drives) {
      const { turn, end } = await replayOnly([programs[program]?.workflow], history, { run, input });
      expect(end).toEqual({ kind: 'finished' });
      expect(firstOf(turn ?? { entries: [] })).toEqual(first);
    }
  });
});
