/** `--input` and `--input-file`. */
import * as z from 'zod';
import type { JsonValue } from '../../engine/json.ts';
import { usageFault } from '../command.ts';
import { file, json, readJson } from '../given.ts';

export const inputOptions = { input: json.optional(), inputFile: file.optional() };
const shape = z.object(inputOptions);

/** undefined: none was given. @throws CliFault */
export function inputIn(cwd: string, { input, inputFile }: z.output<typeof shape>): JsonValue | undefined {
  if (input !== undefined && inputFile !== undefined) throw usageFault('--input and --input-file exclude each other.');
  return inputFile === undefined ? input : readJson(cwd, inputFile);
}
