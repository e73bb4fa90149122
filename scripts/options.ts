/** What is typed behind a script: read as a whole before anything is done. What is mistyped ends it with 2 and the right form. */
import { type ParseArgsConfig, parseArgs } from 'node:util';
import * as z from 'zod';

export interface OptionsAsked<Shape extends z.ZodType> {
  readonly usage: string;
  /** as `parseArgs` takes them; `--help` is added */
  readonly options: NonNullable<ParseArgsConfig['options']>;
  readonly allowPositionals?: boolean;
  /** of what was typed, by the names of the options, and `positionals` */
  readonly shape: Shape;
}

export type OptionsRead<Values> =
  | { readonly kind: 'read'; readonly values: Values }
  | { readonly kind: 'help' }
  | { readonly kind: 'mistyped'; readonly message: string };

export const wholeNumber = z
  .string()
  .regex(/^\d{1,15}$/, 'a whole number is wanted')
  .transform(Number);

/** @param typed what stands behind the script's name */
export function readOptions<Shape extends z.ZodType>(
  { options, shape, allowPositionals = false }: OptionsAsked<Shape>,
  typed: readonly string[],
): OptionsRead<z.output<Shape>> {
  try {
    const help = { type: 'boolean', short: 'h' } as const;
    const { values, positionals } = parseArgs({ args: [...typed], options: { ...options, help }, allowPositionals });
    if (values['help'] === true) return { kind: 'help' };
    const read = shape.safeParse({ ...values, positionals });
    return read.success ? { kind: 'read', values: read.data } : { kind: 'mistyped', message: z.prettifyError(read.error) };
  } catch (fault) {
    return { kind: 'mistyped', message: fault instanceof Error ? fault.message : String(fault) };
  }
}

/** The options of this process; without them it ends here. */
export function optionsOrEnd<Shape extends z.ZodType>(asked: OptionsAsked<Shape>): z.output<Shape> {
  const read = readOptions(asked, process.argv.slice(2));
  if (read.kind === 'read') return read.values;
  if (read.kind === 'mistyped') console.error(`${read.message}\n\n${asked.usage}`);
  else console.log(asked.usage);
  process.exit(read.kind === 'help' ? 0 : 2);
}
