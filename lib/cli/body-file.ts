/** A file with what a request is about. What it holds is judged by the service, which names every fault's place; only its form is judged here. */
import { usageFault } from './command.ts';
import { readJson } from './given.ts';

/** @throws CliFault for what is no JSON object */
export function readBody<Body extends object>(cwd: string, path: string): Body {
  const read = readJson(cwd, path);
  if (!isBody<Body>(read)) throw usageFault(`${path} must hold a JSON object.`);
  return read;
}

const isBody = <Body extends object>(value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
