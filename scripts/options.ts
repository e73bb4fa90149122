/** Parses the command line of a script before the script does anything. Invalid options print the usage and exit with status 2. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import * as z from 'zod';

export interface OptionsSpec<Shape extends z.ZodType> {
  readonly usage: string;
  /** options of `parseArgs`; `--help` is added */
  readonly options: NonNullable<ParseArgsConfig['options']>;
  readonly allowPositionals?: boolean;
  /** schema of the option values and of `positionals` */
  readonly shape: Shape;
}

export type OptionsResult<Values> =
  | { readonly kind: 'read'; readonly values: Values }
  | { readonly kind: 'help' }
  | { readonly kind: 'invalid'; readonly message: string };

export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'must be a whole number')
  .transform(Number);

/** @param args the arguments after the script's name */
export function readOptions<Shape extends z.ZodType>(
  { options, shape, allowPositionals = false }: OptionsSpec<Shape>,
  args: readonly string[],
): OptionsResult<z.output<Shape>> {
  try {
    const help = { type: 'boolean', short: 'h' } as const;
    const { values, positionals } = parseArgs({ args: [...args], options: { ...options, help }, allowPositionals });
    if (values['help'] === true) return { kind: 'help' };
    const read = shape.safeParse({ ...values, positionals });
    return read.success ? { kind: 'read', values: read.data } : { kind: 'invalid', message: z.prettifyError(read.error) };
  } catch (error) {
    return { kind: 'invalid', message: error instanceof Error ? error.message : String(error) };
  }
}

/** Parses the options of this process, or ends the process. */
export function parseOptionsOrExit<Shape extends z.ZodType>(spec: OptionsSpec<Shape>): z.output<Shape> {
  const read = readOptions(spec, process.argv.slice(2));
  if (read.kind === 'read') return read.values;
  if (read.kind === 'invalid') console.error(`${read.message}\n\n${spec.usage}`);
  else console.log(spec.usage);
  process.exit(read.kind === 'help' ? 0 : 2);
}
