/** The prompt of a lens node: its compiled lens version, and the template rendered and checked with the values of the node. */
import { LRUCache } from 'lru-cache';
import type { NodeInput } from '../../engine/graph/plan.ts';
import { resolveTemplate } from '../../engine/graph/template.ts';
import { type LensName, type Scope, lensName } from '../../engine/ids.ts';
import { type JsonObject, type JsonValue, childAt, isJsonObject } from '../../engine/json.ts';
import { type InputCheck, type OutputCheck, inputCheck, optionalBy, outputCheck } from '../../lens/contract.ts';
import { type TemplatePart, labelKey, parseTemplate, placeholdersIn } from '../../lens/placeholders.ts';
import { byKey, render } from '../../lens/render.ts';
import type { LensVersion } from '../../ports/lenses.ts';
import type { Lenses } from '../../ports/versions.ts';
import type { RunResult } from '../runner.ts';
import type { SecretUse } from '../secret-use.ts';
import { shownPrompt, shownValues, withDetail } from '../shown-input.ts';
import { contractViolated, tooLarge, unbound } from './failure.ts';
import type { LensConfig } from './shape.ts';

export interface CompiledLens {
  readonly version: LensVersion;
  readonly parts: readonly TemplatePart[];
  readonly isOptional: (key: string) => boolean;
  readonly checkInput: InputCheck;
  readonly checkOutput: OutputCheck;
}

/** Bounded, because compiled contracts can be large. */
const maxCached = 100;

/** Compiled lens versions. A version never changes, so it is cached. */
export class LensVersions {
  readonly #lenses: Pick<Lenses, 'summary' | 'version'>;
  readonly #cache = new LRUCache<string, CompiledLens>({ max: maxCached });

  constructor(lenses: Pick<Lenses, 'summary' | 'version'>) {
    this.#lenses = lenses;
  }

  /** @returns undefined when the lens or the version does not exist */
  async of(scope: Scope, name: string, number?: number): Promise<CompiledLens | undefined> {
    const lens = lensName(name);
    const wantedVersion = number ?? (await this.#lenses.summary(scope, lens))?.latestVersion;
    if (wantedVersion === undefined) return undefined;
    const key = [scope.projectId, scope.environment, lens, wantedVersion].join('#');
    const known = this.#cache.get(key) ?? (await this.#read(scope, lens, wantedVersion));
    if (known === undefined) return undefined;
    this.#cache.set(key, known);
    return known;
  }

  async #read(scope: Scope, name: LensName, number: number): Promise<CompiledLens | undefined> {
    const version = await this.#lenses.version(scope, name, number);
    if (version === undefined) return undefined;
    const { parts } = parseTemplate(version.template);
    return {
      version,
      parts,
      isOptional: optionalBy(version.input),
      checkInput: inputCheck(version.input, placeholdersIn(parts)),
      checkOutput: outputCheck(version),
    };
  }
}

/** The lens document's limit of a rendered template. */
export const maxPromptBytes = 524_288;

export interface PromptRequest {
  readonly config: LensConfig;
  readonly input: NodeInput;
  readonly model: string;
  readonly secrets: Pick<SecretUse, 'mask'>;
}

/** A prompt, and what adds it to the failure of its attempt. */
interface Prompt {
  readonly prompt: string;
  readonly withInput: (result: RunResult) => RunResult;
}

/** Renders the template and checks its size and the input contract. Returns the prompt, or the failure of the node. */
export function promptOf(lens: CompiledLens, { config, input, model, secrets }: PromptRequest): Prompt | RunResult {
  const values = valuesOf(config, input);
  const { name, version } = lens.version;
  const shown = { lens: name, version, model };
  const rendered = renderAndCheck(lens, values);
  return 'outcome' in rendered
    ? withDetail(rendered, 'input', () => ({ ...shown, values: shownValues(values, secrets.mask) }))
    : {
        ...rendered,
        withInput: (result) =>
          withDetail(result, 'input', () => ({ ...shown, prompt: shownPrompt(rendered.prompt, secrets.mask) })),
      };
}

function renderAndCheck(lens: CompiledLens, values: JsonObject): Pick<Prompt, 'prompt'> | RunResult {
  const rendered = render(lens.parts, byKey(values), lens.isOptional, maxPromptBytes);
  if ('unbound' in rendered) return unbound(rendered.unbound);
  if ('exceededLength' in rendered) return tooLarge(rendered.exceededLength, maxPromptBytes);
  const bytes = Buffer.byteLength(rendered.text);
  if (bytes > maxPromptBytes) return tooLarge(bytes, maxPromptBytes);
  const errors = lens.checkInput(values);
  return errors.length > 0 ? contractViolated('input', errors) : { prompt: rendered.text };
}

/** The values for a template: inputs from edges, overridden by the node's `paramOverrides`. */
function valuesOf(config: Pick<LensConfig, 'paramOverrides' | 'param_overrides'>, input: NodeInput): JsonObject {
  const overrides = Object.entries(config.paramOverrides ?? config.param_overrides ?? {}).map(
    ([label, value]): readonly [string, JsonValue] => [label, overrideOf(value, input.context)],
  );
  const overridden = new Set(overrides.map(([label]) => labelKey(label)));
  const fromEdges = Object.entries(input.inputs).filter(([label]) => !overridden.has(labelKey(label)));
  // The prompt and the input contract use these values.
  const values = Object.fromEntries([...fromEdges, ...overrides]);
  input.context.work.value(values);
  return values;
}

/** `[[nodeId.path]]`: the lens document's reference to another node's output. */
const upstream = /^\s*\[\[\s*([A-Za-z0-9_:-]{1,128})((?:\.[^.[\]\s]{1,128}){0,20})\s*\]\]\s*$/;

function overrideOf(value: JsonValue, context: NodeInput['context']): JsonValue {
  const [, nodeId, path = ''] = (typeof value === 'string' ? upstream.exec(value) : null) ?? [];
  if (nodeId === undefined) return resolveTemplate(value, context);
  const result = context.get(`__node_${nodeId}`);
  let found: JsonValue | undefined = isJsonObject(result) ? result['output'] : undefined;
  for (const step of path.split('.').slice(1)) found = childAt(found, step);
  return found ?? null;
}
