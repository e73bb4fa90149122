/** `--input` and `--input-file`. */
import * as z from 'zod';
import type { JsonValue } from '../../engine/json.ts';
import { usageError } from '../command.ts';
import { file, json, readJson } from '../parse-command-line.ts';

export const inputOptions = { input: json.optional(), inputFile: file.optional() };
const shape = z.object(inputOptions);

/** undefined: none was given. @throws CliError */
export function readInput(cwd: string, { input, inputFile }: z.output<typeof shape>): JsonValue | undefined {
  if (input !== undefined && inputFile !== undefined) throw usageError('--input and --input-file exclude each other.');
  return inputFile === undefined ? input : readJson(cwd, inputFile);
}
