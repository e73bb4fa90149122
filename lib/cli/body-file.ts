/** A file with what a request is about. What it holds is judged by the service, which names every fault's place; only its form is judged here. */
import { usageError } from './command.ts';
import { readJson } from './parse-command-line.ts';

/** @throws CliError for what is no JSON object */
export function readBodyFile<Body extends object>(cwd: string, path: string): Body {
  const parsed = readJson(cwd, path);
  if (!isBody<Body>(parsed)) throw usageError(`${path} must hold a JSON object.`);
  return parsed;
}

const isBody = <Body extends object>(value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
