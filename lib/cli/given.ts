/** Reads what was written on the command line: ids and values are judged before anything is sent. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';
import { idempotencyKeyIn } from '../api/idempotency.ts';
import {
  deploymentIdPattern,
  keyIdPattern,
  lensNamePattern,
  nodeIdPattern,
  queryNamePattern,
  runIdPattern,
  scheduleIdPattern,
  signalIdPattern,
  workflowNamePattern,
} from '../engine/ids.ts';
import type { JsonValue } from '../engine/json.ts';
import { type Given, usageFault } from './command.ts';

const id = (pattern: RegExp, what: string, example: string) =>
  z.string({ error: 'is missing' }).regex(pattern, `must be ${what}, such as ${example}`);

export const runId = id(runIdPattern, 'a run id', 'wrun_01M7XSDTEE14XW69VBQD8BT3DC');
export const workflowName = id(workflowNamePattern, 'the name of a workflow', 'order-total');
export const lensName = id(lensNamePattern, 'the name of a lens', 'product-blurb');
export const queryName = id(queryNamePattern, 'the name of a query', 'recent-orders');
export const scheduleId = id(scheduleIdPattern, 'the id of a schedule', 'nightly');
export const signalId = id(signalIdPattern, 'the id of a signal', 'order-17-paid');
export const keyId = id(keyIdPattern, 'a key id', '2XO6ARGyEjqEeJ');
export const nodeId = id(nodeIdPattern, 'a node id', 'price');
export const deploymentId = id(deploymentIdPattern, 'a deployment id', 'orders-42');
export const idempotencyKey = z
  .string()
  .refine((text) => idempotencyKeyIn(text) === text, 'must be 1 to 255 printable characters, without quotes around them');
export const file = z.string({ error: 'is missing' }).min(1);

export const count = (least: number, most: number) =>
  z.coerce
    .number({ error: 'must be a number' })
    .int('must be a whole number')
    .min(least, `must be ${least} or more`)
    .max(most, `must be ${most} or less`);

/** A time with its offset, as the service takes it. */
export const moment = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-01-31T12:00:00Z' });

export const json = z.string().transform((text, context): JsonValue => {
  try {
    return z.json().parse(JSON.parse(text));
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});

/** One argument, by its place. @throws CliFault that names it */
export function argument<Schema extends z.ZodType>(given: Given, place: number, name: string, schema: Schema): z.output<Schema> {
  const read = schema.safeParse(given.args[place]);
  if (read.success) return read.data;
  throw usageFault(`<${name}> ${read.error.issues[0]?.message ?? 'is wrong'}${quoted(given.args[place])}.`);
}

/** The options of a command. @throws CliFault that names the first one that is wrong */
export function optionsIn<Schema extends z.ZodObject>(given: Given, schema: Schema): z.output<Schema> {
  const read = schema.safeParse(given.options);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const name = String(issue?.path[0] ?? '');
  throw usageFault(`--${kebab(name)} ${issue?.message ?? 'is wrong'}${quoted(given.options[name])}.`);
}

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const quoted = (value: unknown): string => (value === undefined ? '' : `, and is ${JSON.stringify(value)}`);

/** @throws CliFault */
function readText(cwd: string, path: string): string {
  try {
    return readFileSync(resolve(cwd, path), 'utf8');
  } catch (trouble) {
    throw usageFault(`${path} cannot be read: ${trouble instanceof Error ? trouble.message : String(trouble)}.`);
  }
}

/** @throws CliFault */
export function readJson(cwd: string, path: string): JsonValue {
  const read = json.safeParse(readText(cwd, path));
  if (read.success) return read.data;
  throw usageFault(`${path} is not JSON.`);
}

/** Without what was not given: to a schema, an undefined key is a key. */
export function present<Values extends object>(values: Values): { -readonly [Key in keyof Values]?: Values[Key] & ({} | null) } {
  const kept: { -readonly [Key in keyof Values]?: Values[Key] & ({} | null) } = {};
  for (const key in values) {
    const value = values[key];
    if (value !== undefined) kept[key] = value;
  }
  return kept;
}
