/** Synthesizes the app and hands the templates out as plain objects, parsed once. */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { App } from 'aws-cdk-lib';
import * as z from 'zod';
import { type FunctionName, functionNames } from '../../lib/contract/environment.ts';
import { addStacks } from '../../lib/stacks/stacks.ts';
import { parseSettings } from '../../lib/stacks/settings.ts';

const resourceSchema = z.looseObject({
  Type: z.string(),
  Properties: z.record(z.string(), z.unknown()).default({}),
  DeletionPolicy: z.string().optional(),
  UpdateReplacePolicy: z.string().optional(),
});
const templateSchema = z.looseObject({ Resources: z.record(z.string(), resourceSchema) });

export interface Resource extends z.output<typeof resourceSchema> {
  readonly id: string;
}

export interface Synthesized {
  readonly data: readonly Resource[];
  readonly runtime: readonly Resource[];
  /** both templates as they were written */
  readonly text: string;
  readonly manifest: unknown;
}

export const cdkContext = z
  .looseObject({ context: z.record(z.string(), z.unknown()) })
  .parse(JSON.parse(readFileSync(new URL('../../cdk.json', import.meta.url), 'utf8'))).context;

export const newFolder = (): string => mkdtempSync(join(tmpdir(), 'stepwell-infra-'));

/** What is deployed without settings: no traces are sent, and no trigger starts runs. */
export const usualFunctions = functionNames.filter((name) => name !== 'traces' && name !== 'starts');
export const withTraces = { traces: { endpoint: 'https://collector.example.com/v1/traces' } };
/** With which every function is deployed. */
export const withAllFunctions = { ...withTraces, triggers: { orders: { on: { queue: {} }, workflowName: 'ship' } } };

/** A folder of bundles that do nothing: what is tested here is what is around them. */
export function emptyBundles(names: readonly FunctionName[] = functionNames): string {
  const folder = newFolder();
  for (const name of names) {
    mkdirSync(join(folder, name));
    writeFileSync(join(folder, name, 'index.mjs'), 'export const handler = async () => {};\n');
  }
  return folder;
}

/** The product's stacks in an app that is not synthesized yet. `settings` are those of the context, without their prefix. */
export function stacksWith(settings: Readonly<Record<string, unknown>> = {}, bundles = emptyBundles(), add = addStacks) {
  const own = Object.fromEntries(Object.entries(settings).map(([name, value]) => [`stepwell:${name}`, value]));
  // CloudFormation's own rules take longer than all the rest: one test runs them.
  const app = new App({ outdir: newFolder(), context: { ...cdkContext, ...own }, builtinCloudFormationValidation: false });
  return { app, ...add(app, bundles, parseSettings(app.node.getAllContext())) };
}

const usual = new Map<string, Synthesized>();

/** Files that share a process share the syntheses of the usual bundles: each takes half a second. They are frozen. */
export function synthesize(settings: Readonly<Record<string, unknown>> = {}, bundles?: string): Synthesized {
  if (bundles !== undefined) return synthesizeNow(settings, bundles);
  const key = JSON.stringify(settings);
  const made = usual.get(key) ?? frozen(synthesizeNow(settings, emptyBundles()));
  usual.set(key, made);
  return made;
}

function synthesizeNow(settings: Readonly<Record<string, unknown>>, bundles: string): Synthesized {
  const { app, data, runtime } = stacksWith(settings, bundles);
  const { directory } = app.synth();
  const read = (file: string) => readFileSync(join(directory, file), 'utf8');
  const texts = [data, runtime].map((stack) => read(stack.templateFile));
  const manifest = read('manifest.json');
  const [dataResources = [], runtimeResources = []] = texts.map(resourcesIn);
  return {
    data: dataResources,
    runtime: runtimeResources,
    text: texts.join('\n'),
    manifest: JSON.parse(manifest),
  };
}

/** Frozen at every level, so that no test changes what another one reads. */
function frozen<Value>(value: Value): Value {
  if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) frozen(part);
    Object.freeze(value);
  }
  return value;
}

export const resourcesIn = (template: string): readonly Resource[] =>
  Object.entries(templateSchema.parse(JSON.parse(template)).Resources).map(([id, resource]) => ({ id, ...resource }));

export const ofType = (resources: readonly Resource[], type: string): readonly Resource[] =>
  resources.filter((resource) => resource.Type === `AWS::${type}`);

/** The one resource whose logical id begins so, before the digest that the CDK appends. */
export function byId(resources: readonly Resource[], id: string): Resource {
  const [found, ...more] = resources.filter((resource) => resource.id.replace(/[0-9A-F]{8}$/, '') === id);
  if (found === undefined || more.length > 0) throw new Error(`${more.length === 0 ? 'no' : 'more than one'} resource ${id}`);
  return found;
}

const reference = z.union([
  z.object({ Ref: z.string() }).transform(({ Ref }) => Ref),
  z.object({ 'Fn::GetAtt': z.tuple([z.string(), z.string()]) }).transform((value) => value['Fn::GetAtt'][0]),
]);

const storedSchema = z
  .string()
  .transform((text): unknown => JSON.parse(text))
  .pipe(z.array(z.object({ name: z.string(), version: z.string(), text: z.string() })));

/** The text that the deployment writes of a large setting, in the version that a function is told. */
export function storedSetting(resources: readonly Resource[], name: string, version: unknown): unknown {
  const stored = resources
    .filter(({ Type }) => Type === 'Custom::StepwellKeys')
    .flatMap(({ Properties }) => storedSchema.parse(Properties['Settings']));
  const found = stored.find((setting) => setting.name === name && setting.version === version);
  if (found === undefined) throw new Error(`the deployment writes no version ${String(version)} of ${name}`);
  return JSON.parse(found.text);
}

/** The logical id that a `Ref` or `Fn::GetAtt` points at. */
export const pointedAt = (value: unknown): string => reference.parse(value);
