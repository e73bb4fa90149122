/** `stepwell types`: writes the TypeScript types of the published graphs, for `client.runs.start`. */
import { writeFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import * as z from 'zod';
import type { Action } from '../command.ts';
import { quantity } from '../format.ts';
import { file, parseOptions } from '../parse-command-line.ts';
import type { JsonValue } from '../../engine/json.ts';

const typesOptions = z.object({ out: file.optional() });

export const writeTypes: Action = async (commandLine, context) => {
  const { out } = parseOptions(commandLine, typesOptions);
  const client = await context.client();
  const graphs: Graph[] = [];
  for await (const { name, definition } of client.eachWorkflow({ include: 'definition' }, { signal: context.signal }))
    if (definition !== undefined) graphs.push({ name, ...definitionShape.parse(definition) });
  const text = typesOf(graphs);
  if (out === undefined) return { data: { workflows: graphs.map(({ name }) => name), text }, text: text.trimEnd() };
  const path = resolve(context.cwd, out);
  writeFileSync(path, text);
  const data = { workflows: graphs.map(({ name }) => name), file: path };
  return { data, text: `${relative(context.cwd, path)}: the types of ${quantity(graphs.length, 'workflow')}` };
};

const argument = z.looseObject({
  name: z.string(),
  type: z.enum(['string', 'number', 'boolean', 'object', 'array']),
  required: z.boolean().default(false),
});
type Argument = z.output<typeof argument>;
const output = z.looseObject({
  name: z.string(),
  sourceVariable: z.string().optional(),
  value: z.json().optional(),
});
/** The parts of a published definition that its types depend on. The service has validated it. */
const definitionShape = z.looseObject({
  nodes: z.array(z.looseObject({ type: z.string(), config: z.looseObject({}).optional() })),
  options: z.looseObject({ args: z.array(argument).optional() }).default({}),
});
const endConfig = z.looseObject({
  status: z.enum(['success', 'error']).default('success'),
  outputParameters: z.array(output).default([]),
});

export type Graph = { readonly name: string } & z.output<typeof definitionShape>;

/** A module that declares `Workflows`, with the input and the output of each graph by its name. */
export function typesOf(graphs: readonly Graph[]): string {
  const entries = graphs.flatMap((graph) => [
    `  ${JSON.stringify(graph.name)}: {`,
    ...indent(`readonly input${graph.options.args === undefined ? '?' : ''}: `, inputType(graph)),
    ...indent('readonly output: ', outputType(graph)),
    '  };',
  ]);
  return [
    '/** The published graph workflows. Written by `stepwell types`: run it again after a publication. */',
    'export interface Workflows {',
    ...entries,
    '}',
    '',
  ].join('\n');
}

const indent = (start: string, [first = '', ...rest]: readonly string[]): readonly string[] => {
  const lines = [start + first, ...rest].map((line) => `    ${line}`);
  return [...lines.slice(0, -1), `${lines.at(-1) ?? ''};`];
};

const argumentTypes = {
  string: 'string',
  number: 'number',
  boolean: 'boolean',
  object: '{ readonly [key: string]: unknown }',
  array: 'readonly unknown[]',
} as const satisfies Record<Argument['type'], string>;

/** Without declared arguments any input is accepted. */
const inputType = ({ options: { args } }: Graph): readonly string[] =>
  args === undefined
    ? ['unknown']
    : objectType(args.map(({ name, type, required }) => ({ name, type: argumentTypes[type], isOptional: !required })));

interface Field {
  readonly name: string;
  readonly type: string;
  readonly isOptional: boolean;
}

const objectType = (fields: readonly Field[]): readonly string[] =>
  fields.length === 0
    ? ['{}']
    : [
        '{',
        ...fields.map(({ name, type, isOptional }) => `  readonly ${fieldName(name)}${isOptional ? '?' : ''}: ${type};`),
        '}',
      ];

const fieldName = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

/** The outputs of the ends that succeed. Several of them may run, and each adds its outputs, so theirs are optional. */
function outputType({ nodes, options: { args = [] } }: Graph): readonly string[] {
  const ends = nodes.filter(({ type }) => type === 'end').map(({ config }) => endConfig.parse(config ?? {}));
  const successful = ends.filter(({ status }) => status === 'success');
  const fields = new Map<string, Field>();
  for (const { outputParameters } of successful)
    for (const { name, sourceVariable, value } of outputParameters) {
      const type = value === undefined ? templateType(sourceVariable, args) : constantType(value);
      const known = fields.get(name);
      fields.set(name, {
        name,
        type: known === undefined || known.type === type ? type : 'unknown',
        isOptional: successful.length > 1,
      });
    }
  return objectType([...fields.values()]);
}

/** The type of an argument that a template passes on unchanged; other templates have no known type. */
function templateType(template: string | undefined, args: readonly Argument[]): string {
  const [, name] = /^\{\{\s*ctx\.input\.([A-Za-z_][\w]*)\s*\}\}$/.exec(template ?? '') ?? [];
  const found = args.find((each) => each.name === name);
  return found?.required === true ? argumentTypes[found.type] : 'unknown';
}

/** Strings of a constant may contain templates. */
const constantType = (value: JsonValue): string => {
  if (typeof value === 'string') return value.includes('{{') ? 'unknown' : 'string';
  if (typeof value === 'number' || typeof value === 'boolean') return typeof value;
  return value === null ? 'null' : 'unknown';
};
