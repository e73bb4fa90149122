/** Parses arguments, options and input files. Ids and values are validated before any request is sent. */
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';
import { describeJsonError } from '../api/json-errors.ts';
import { parseIdempotencyKey } from '../api/idempotency.ts';
import { type CommandLine, usageError } from './command.ts';
import {
  anyWorkflowNamePattern,
  appName as toAppName,
  appNamePattern,
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
import { fullWorkflowName } from './devkit-names.ts';
import { externalRunIdPattern } from '../engine/external/run.ts';
import type { JsonValue } from '../engine/json.ts';

const idSchema = (pattern: RegExp, what: string, example: string) =>
  z.string({ error: 'is missing' }).regex(pattern, `must be ${what}, such as ${example}`);

export const runId = idSchema(runIdPattern, 'a run id', 'wrun_01M7XSDTEE14XW69VBQD8BT3DC');
/** Also the id of an external-worker run. */
export const anyRunId = idSchema(
  new RegExp(`${runIdPattern.source}|${externalRunIdPattern.source}`),
  'a run id',
  'wrun_01M7XSDTEE14XW69VBQD8BT3DC',
);
export const workflowName = idSchema(workflowNamePattern, 'the name of a workflow', 'order-total');
/** Also a workflow of the Workflow DevKit, by its name or by its short name. */
export const anyWorkflowName = z
  .string({ error: 'is missing' })
  .transform(fullWorkflowName)
  .pipe(idSchema(anyWorkflowNamePattern, 'the name of a workflow', 'order-total'));
export const lensName = idSchema(lensNamePattern, 'the name of a lens', 'product-blurb');
export const queryName = idSchema(queryNamePattern, 'the name of a query', 'recent-orders');
export const scheduleId = idSchema(scheduleIdPattern, 'the id of a schedule', 'nightly');
export const signalId = idSchema(signalIdPattern, 'the id of a signal', 'order-17-paid');
export const keyId = idSchema(keyIdPattern, 'a key id', '2XO6ARGyEjqEeJ');
export const nodeId = idSchema(nodeIdPattern, 'a node id', 'price');
export const deploymentId = idSchema(deploymentIdPattern, 'a deployment id', 'orders-42');
export const appName = idSchema(appNamePattern, 'the name of an app', 'orders').transform(toAppName);
export const idempotencyKey = z
  .string()
  .refine((text) => parseIdempotencyKey(text) === text, 'must be 1 to 255 printable characters, without quotes around them');
export const file = z.string({ error: 'is missing' }).min(1);

export const integerBetween = (min: number, max: number) =>
  z.coerce
    .number({ error: 'must be a number' })
    .int('must be a whole number')
    .min(min, `must be ${min} or more`)
    .max(max, `must be ${max} or less`);

/** A time with an offset, as the API requires it. */
export const timestamp = z.iso.datetime({ offset: true, error: 'must be a time such as 2026-01-31T12:00:00Z' });

export const json = z.string().transform((text, context): JsonValue => {
  try {
    return z.json().parse(JSON.parse(text));
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});

/** Parses one positional argument. @throws CliError that names it */
export function parseArgument<Schema extends z.ZodType>(
  commandLine: CommandLine,
  position: number,
  name: string,
  schema: Schema,
): z.output<Schema> {
  const parsed = schema.safeParse(commandLine.args[position]);
  if (parsed.success) return parsed.data;
  throw usageError(`<${name}> ${parsed.error.issues[0]?.message ?? 'is invalid'}${quoted(commandLine.args[position])}.`);
}

/** Parses the options of a command. @throws CliError that names the first invalid one */
export function parseOptions<Schema extends z.ZodObject>(commandLine: CommandLine, schema: Schema): z.output<Schema> {
  const parsed = schema.safeParse(commandLine.options);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const name = String(issue?.path[0] ?? '');
  throw usageError(`--${kebab(name)} ${issue?.message ?? 'is invalid'}${quoted(commandLine.options[name])}.`);
}

const kebab = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
const quoted = (value: unknown): string => (value === undefined ? '' : ` (value: ${JSON.stringify(value)})`);

/** @throws CliError */
export function readText(cwd: string, path: string): string {
  try {
    return readFileSync(resolve(cwd, path), 'utf8');
  } catch (error) {
    throw usageError(`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}.`);
  }
}

/** @throws CliError */
export function readJson(cwd: string, path: string): JsonValue {
  const text = readText(cwd, path);
  return parseJson(text, path);
}

/** @param source for the error. @throws CliError */
export function parseJson(text: string, source: string): JsonValue {
  const parsed = json.safeParse(text);
  if (parsed.success) return parsed.data;
  throw usageError(`${source} is not JSON: ${describeJsonError(text)}.`);
}

/** Removes undefined values: a strict schema counts a key with an undefined value as present. */
export function omitUndefined<Values extends object>(
  values: Values,
): { -readonly [Key in keyof Values]?: Values[Key] & ({} | null) } {
  const defined: { -readonly [Key in keyof Values]?: Values[Key] & ({} | null) } = {};
  for (const key in values) {
    const value = values[key];
    if (value !== undefined) defined[key] = value;
  }
  return defined;
}

/** Reads a request body from a file. Only its form is checked here; the API validates the content. @throws CliError */
export function readBodyFile<Body extends object>(cwd: string, path: string): Body {
  const parsed = readJson(cwd, path);
  if (!isBody<Body>(parsed)) throw usageError(`${path} must hold a JSON object.`);
  return parsed;
}

/** Only the form is checked; the API validates the content. @throws CliError */
export function asBody<Body extends object>(value: unknown): Body {
  if (!isBody<Body>(value)) throw usageError('The value must be a JSON object.');
  return value;
}

const isBody = <Body extends object>(value: unknown): value is Body =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const inputOptions = { input: json.optional(), inputFile: file.optional() };
const inputSchema = z.object(inputOptions);

/** Reads `--input` or `--input-file`; undefined if neither is used. @throws CliError */
export function readInput(cwd: string, { input, inputFile }: z.output<typeof inputSchema>): JsonValue | undefined {
  if (input !== undefined && inputFile !== undefined) throw usageError('--input and --input-file exclude each other.');
  return inputFile === undefined ? input : readJson(cwd, inputFile);
}
