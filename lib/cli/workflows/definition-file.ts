/** A file with a definition. What it holds is judged by the service, which names every fault's place; only its form is judged here. */
import type * as z from 'zod';
import { usageFault } from '../command.ts';
import { readJson } from '../given.ts';
import type { createWorkflowBody } from '../../api/schemas/workflows.ts';

type Definition = z.input<typeof createWorkflowBody>;

/** @throws CliFault for what is no JSON object */
export function readDefinition(cwd: string, path: string): Partial<Pick<Definition, 'name'>> & Omit<Definition, 'name'> {
  const read = readJson(cwd, path);
  if (!isDefinition(read)) throw usageFault(`${path} must hold a JSON object.`);
  return read;
}

const isDefinition = (value: unknown): value is Omit<Definition, 'name'> & Partial<Pick<Definition, 'name'>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
