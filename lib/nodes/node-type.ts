/**
 * What a node type is, for whoever checks and plans workflows. Each type is a folder: `shape.ts` says what its config
 * may be, and, where the node needs nothing but the context and the time, decides it; `run.ts` does the rest.
 * Nothing here or in a shape may load a sandbox or an HTTP client: the API function carries all shapes.
 */
import type * as z from 'zod';
import type { Outcome } from '../engine/graph/outcome.ts';
import { InspectionWork } from '../engine/graph/inspection.ts';
import type { NodeInput } from '../engine/graph/plan.ts';
import { templateErrorsOf, secretsOf } from '../engine/graph/template.ts';
import type { JsonObject } from '../engine/json.ts';
import type { Instant } from '../engine/time.ts';
import { type ConfigFinding, isError } from './finding.ts';
import { type NodeDefaults, settingKeys, steps } from './settings.ts';

/** A type as its folder describes it. `Config` is what the schema makes of the node's own keys. */
export interface NodeShape<Schema extends z.ZodObject> {
  readonly type: string;
  readonly defaults: NodeDefaults;
  /** it may take long: worth a NODE_STARTED commit of its own when it is taken from the queue */
  readonly announcesStart: boolean;
  /** it begins a run, and nothing may lead into it */
  readonly isTrigger?: boolean;
  /** it takes what lies behind its way out `loop` through the items it comes to */
  readonly isLoop?: boolean;
  /** the type's own keys; what it does not know is dropped here and reported by `read` */
  readonly schema: Schema;
  /** top-level keys whose text is code or prose: `{{` means nothing in them */
  readonly literalKeys?: readonly string[];
  /** top-level keys in which `{{secret:name}}` may stand: what is made of them goes to the other side and nowhere else */
  readonly secretKeys?: readonly string[];
  /** the handles it can end with, the error handle included */
  handles(config: z.output<Schema>): readonly string[];
  /** what a schema cannot see */
  check?(config: z.output<Schema>, work: InspectionWork): readonly ConfigFinding[];
  /** decides a node that needs nothing but the context and the time; undefined where this config needs a worker */
  decider?(config: z.output<Schema>): ((input: NodeInput, now: Instant) => Outcome) | undefined;
}

/** A config that was read: what it can end with, and how it is decided where no worker is needed. */
export interface ReadConfig {
  readonly handles: readonly string[];
  readonly decide: ((input: NodeInput, now: Instant) => Outcome) | undefined;
}

/** A type as everybody else sees it. */
export interface NodeType {
  readonly type: string;
  readonly defaults: NodeDefaults;
  readonly announcesStart: boolean;
  readonly isTrigger: boolean;
  readonly isLoop: boolean;
  /** `config` is absent where a finding is an error */
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
    ...parsed.findings,
  ];
  if (!('config' in parsed) || findings.some(isError)) return { findings };
  return { findings, config: { handles: shape.handles(parsed.config), decide: shape.decider?.(parsed.config) } };
}

/** The type's own keys, parsed. Runners read with the same eyes as validation. */
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
      message: issue.message,
    })),
  };
}

const unknownKeys = <Schema extends z.ZodObject>(shape: NodeShape<Schema>, config: JsonObject): readonly ConfigFinding[] =>
  Object.keys(config)
    .filter((key) => !settingKeys.has(key) && !Object.hasOwn(shape.schema.shape, key))
    .map((key) => ({ code: 'config_key_unknown', path: [key], message: `a ${shape.type} node knows no setting ${key}` }));

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
      message: `the secret ${name} cannot stand here: ${describeSecretKeys(shape)}`,
    }));

const describeSecretKeys = <Schema extends z.ZodObject>({ type, secretKeys = [] }: NodeShape<Schema>): string =>
  secretKeys.length === 0 ? `a ${type} node takes no secrets` : `a ${type} node takes secrets in ${secretKeys.join(', ')}`;

const templatesIn = <Schema extends z.ZodObject>(shape: NodeShape<Schema>, config: JsonObject) =>
  Object.entries(config).filter(([key]) => Object.hasOwn(shape.schema.shape, key) && shape.literalKeys?.includes(key) !== true);

/** The steps of a JSON pointer. */
const segmentsOf = (pointer: string): readonly string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'));
