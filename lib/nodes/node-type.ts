/**
 * The interface of a node type. Each type is a folder: `shape.ts` has the config schema, and evaluates pure nodes, which need only
 * the context and the time. `run.ts` runs the other nodes on a worker.
 * This file and the shapes must not import the sandbox or the HTTP client, because the API function bundles them.
 */
import type * as z from 'zod';
import { defined } from '../base/defined.ts';
import type { Outcome } from '../engine/graph/outcome.ts';
import { InspectionWork } from '../engine/graph/inspection.ts';
import type { NodeInput } from '../engine/graph/plan.ts';
import { templateErrorsOf, secretsOf } from '../engine/graph/template.ts';
import { type JsonObject, type JsonValue, isJsonArray, isJsonObject } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import type { ContextRead } from '../engine/graph/inspection.ts';
import { type ConfigFinding, isError } from './config-values.ts';
import { type NodeCode, contextReads } from './context-reads.ts';
import { type NodeDefaults, settingKeys, steps } from './settings.ts';

/** A node type as its folder defines it. The schema parses the type's own config keys. */
export interface NodeShape<Schema extends z.ZodObject> {
  readonly type: string;
  readonly defaults: NodeDefaults;
  /** the node may run long, so the worker commits NODE_STARTED before it runs */
  readonly announcesStart: boolean;
  /** the node starts a run; no edge may lead into it */
  readonly isTrigger?: boolean;
  /** the node runs the body behind its handle `loop` for each item */
  readonly isLoop?: boolean;
  /** the type's own keys; unknown keys are dropped here and reported by `read` */
  readonly schema: Schema;
  /** top-level keys with code or prose, in which `{{` is not a template */
  readonly literalKeys?: readonly string[];
  /** top-level keys that may contain `{{secret:name}}`; their values are only sent to the remote server */
  readonly secretKeys?: readonly string[];
  /** the handles it can end with, the error handle included */
  handles(config: z.output<Schema>): readonly string[];
  /** checks that a schema cannot express */
  check?(config: z.output<Schema>, work: InspectionWork): readonly ConfigFinding[];
  /** its scripts, which read `ctx` */
  code?(config: z.output<Schema>): readonly NodeCode[];
  /** context names that it writes besides its output variable */
  variables?(config: z.output<Schema>): readonly string[];
  /** whether the end of this node ends the run and cancels its open nodes */
  endsRun?(config: z.output<Schema>): boolean;
  /** how long a node with this config waits at most, in ms; undefined: it does not wait, or only its run knows how long */
  waitMs?(config: z.output<Schema>): number | undefined;
  /** evaluates a pure node; undefined when this config needs a worker */
  decider?(config: z.output<Schema>): ((input: NodeInput, now: Instant) => Outcome) | undefined;
}

/** A parsed config: the node's handles, and its evaluation if the node is pure. */
export interface ReadConfig {
  readonly waitMs?: number;
  readonly handles: readonly string[];
  readonly endsRun: boolean;
  /** context names that it writes besides its output variable */
  readonly variables: readonly string[];
  /** a function, because only validation needs it */
  readonly reads: () => readonly ContextRead[];
  readonly decide: ((input: NodeInput, now: Instant) => Outcome) | undefined;
}

/** A node type for the other modules. */
export interface NodeType {
  readonly type: string;
  readonly defaults: NodeDefaults;
  readonly announcesStart: boolean;
  readonly isTrigger: boolean;
  readonly isLoop: boolean;
  /** parses the type's own config keys; forms are made from it */
  readonly schema: z.ZodObject;
  /** top-level keys with code or prose, in which `{{` is not a template */
  readonly literalKeys: readonly string[];
  /** top-level keys that may contain `{{secret:name}}` */
  readonly secretKeys: readonly string[];
  /** `config` is absent when a finding is an error */
  read(config: JsonObject, work?: InspectionWork): { readonly config?: ReadConfig; readonly findings: readonly ConfigFinding[] };
}

type Read = ReturnType<NodeType['read']>;

export function nodeType<Schema extends z.ZodObject>(shape: NodeShape<Schema>): NodeType {
  // A config never changes, and a pure node is decided often: it is read once.
  const cache = new WeakMap<JsonObject, Read>();
  return {
    type: shape.type,
    defaults: shape.defaults,
    announcesStart: shape.announcesStart,
    isTrigger: shape.isTrigger === true,
    isLoop: shape.isLoop === true,
    schema: shape.schema,
    literalKeys: shape.literalKeys ?? [],
    secretKeys: shape.secretKeys ?? [],
    read: (config, work) => {
      const known = cache.get(config);
      if (known !== undefined) return known;
      const read = readConfig(shape, config, work);
      cache.set(config, read);
      return read;
    },
  };
}

function readConfig<Schema extends z.ZodObject>(shape: NodeShape<Schema>, config: JsonObject, work?: InspectionWork): Read {
  const parsed = parseConfig(shape, config, work);
  const findings = [
    ...unknownKeys(shape, config),
    ...templateFaults(shape, config),
    ...misplacedSecrets(shape, config),
    ...secretsInCode(shape, config),
    ...parsed.findings,
  ];
  if (!('config' in parsed) || findings.some(isError)) return { findings };
  const { config: ownConfig } = parsed;
  return {
    findings,
    config: {
      ...defined({ waitMs: shape.waitMs?.(ownConfig) }),
      handles: shape.handles(ownConfig),
      endsRun: shape.endsRun?.(ownConfig) === true,
      variables: shape.variables?.(ownConfig) ?? [],
      reads: () => contextReads(templatesIn(shape, config), shape.code?.(ownConfig) ?? []),
      decide: shape.decider?.(ownConfig),
    },
  };
}

/** Parses the type's own keys. Validation and runners share it. */
export function parseConfig<Schema extends z.ZodObject>(
  shape: NodeShape<Schema>,
  config: JsonObject,
  work = new InspectionWork(),
):
  | { readonly config: z.output<Schema>; readonly findings: readonly ConfigFinding[] }
  | { readonly findings: readonly ConfigFinding[] } {
  const result = shape.schema.safeParse(config);
  if (result.success) return { config: result.data, findings: shape.check?.(result.data, work) ?? [] };
  return {
    findings: result.error.issues.map((issue) => ({
      code: 'config_invalid',
      path: steps(issue.path),
      message: isMissing(issue, config) ? 'is required' : issue.message,
    })),
  };
}

/** Whether the config has nothing at the place of the issue. */
function isMissing({ code, path }: z.core.$ZodIssue, config: JsonObject): boolean {
  if (code !== 'invalid_type' || path.length === 0) return false;
  let value: JsonValue | undefined = config;
  for (const step of path) {
    if (isJsonArray(value) && typeof step === 'number') value = value[step];
    else value = isJsonObject(value) ? value[String(step)] : undefined;
  }
  return value === undefined;
}

const unknownKeys = <Schema extends z.ZodObject>(shape: NodeShape<Schema>, config: JsonObject): readonly ConfigFinding[] =>
  Object.keys(config)
    .filter((key) => !settingKeys.has(key) && !Object.hasOwn(shape.schema.shape, key))
    .map((key) => ({ code: 'config_key_unknown', path: [key], message: unknownKeyMessage(shape, key) }));

function unknownKeyMessage<Schema extends z.ZodObject>({ type, schema }: NodeShape<Schema>, key: string): string {
  const own = Object.keys(schema.shape);
  const article = /^[aeiou]/.test(type) ? 'an' : 'a';
  const others = own.length === 0 ? 'it has none of its own' : `its own are ${own.join(', ')}`;
  return `${article} ${type} node has no setting ${key}; ${others}`;
}

const templateFaults = <Schema extends z.ZodObject>(shape: NodeShape<Schema>, config: JsonObject): readonly ConfigFinding[] =>
  templatesIn(shape, config)
    .flatMap(([key, value]) => templateErrorsOf({ [key]: value }))
    .map(({ pointer, message }) => ({ code: 'template_invalid', path: segmentsOf(pointer), message }));

const misplacedSecrets = <Schema extends z.ZodObject>(shape: NodeShape<Schema>, config: JsonObject): readonly ConfigFinding[] =>
  templatesIn(shape, config)
    .filter(([key]) => shape.secretKeys?.includes(key) !== true)
    .flatMap(([key, value]) => secretsOf({ [key]: value }))
    .map(({ pointer, name }) => ({
      code: 'secret_misplaced',
      path: segmentsOf(pointer),
      message: `the secret ${name} is not allowed here: ${describeSecretKeys(shape)}`,
    }));

const secretsInCode = <Schema extends z.ZodObject>(shape: NodeShape<Schema>, config: JsonObject): readonly ConfigFinding[] =>
  (shape.literalKeys ?? []).flatMap((key) => {
    const code = config[key];
    const found = typeof code === 'string' ? /\{\{\s{0,9}secret:[^{}]{0,200}\}\}/.exec(code)?.[0] : undefined;
    if (found === undefined) return [];
    const message = `the code sees the text ${found}, not the secret: only nodes that send a secret to a server, such as http, resolve it`;
    return [{ code: 'secret_in_code', path: [key], message }];
  });

const describeSecretKeys = <Schema extends z.ZodObject>({ type, secretKeys = [] }: NodeShape<Schema>): string =>
  secretKeys.length === 0 ? `a ${type} node accepts no secrets` : `a ${type} node accepts secrets in ${secretKeys.join(', ')}`;

const templatesIn = <Schema extends z.ZodObject>(shape: NodeShape<Schema>, config: JsonObject) =>
  Object.entries(config).filter(([key]) => Object.hasOwn(shape.schema.shape, key) && shape.literalKeys?.includes(key) !== true);

/** The segments of a JSON pointer. */
const segmentsOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
