/** Compiled lens versions. A version never changes, so it is cached. */
import { type LensName, type Scope, lensName } from '../../engine/ids.ts';
import { type InputCheck, type OutputCheck, inputCheck, optionalBy, outputCheck } from '../../lens/contract.ts';
import { type TemplatePart, parseTemplate, placeholdersIn } from '../../lens/placeholders.ts';
import type { LensVersion } from '../../ports/lenses.ts';
import type { Lenses } from '../../ports/versions.ts';

export interface CompiledLens {
  readonly version: LensVersion;
  readonly parts: readonly TemplatePart[];
  readonly isOptional: (key: string) => boolean;
  readonly checkInput: InputCheck;
  readonly checkOutput: OutputCheck;
}

/** Bounded, because compiled contracts can be large. */
const maxCached = 100;

export class LensVersions {
  readonly #lenses: Pick<Lenses, 'summary' | 'version'>;
  readonly #cache = new Map<string, CompiledLens>();

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
    this.#cache.delete(key);
    this.#cache.set(key, known);
    const oldest = this.#cache.keys().next();
    if (this.#cache.size > maxCached && oldest.done !== true) this.#cache.delete(oldest.value);
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
