/** The golden lists of events. `STEPWELL_WRITE_GOLDEN=1` writes them again; review the difference before you commit it. */
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import * as z from 'zod';

const folder = new URL('golden/', import.meta.url);
const fileOf = (name: string): URL => new URL(`${name}.json`, folder);

export const isWriting = process.env['STEPWELL_WRITE_GOLDEN'] === '1';

export const writeGolden = (name: string, lines: readonly string[]): void =>
  writeFileSync(fileOf(name), `${JSON.stringify(lines, null, 2)}\n`);

export const readGolden = (name: string): readonly string[] =>
  existsSync(fileOf(name)) ? z.array(z.string()).parse(JSON.parse(readFileSync(fileOf(name), 'utf8'))) : [];

export const goldenNames = (): readonly string[] =>
  readdirSync(folder)
    .map((file) => file.replace(/\.json$/, ''))
    .toSorted();
