/** Lens versions made ready to run. A version never changes, so one that was read is kept. */
import { type LensName, type Scope, lensName } from '../../engine/ids.ts';
import { type InputCheck, type OutputCheck, inputCheck, optionalBy, outputCheck } from '../../lens/contract.ts';
import { type TemplatePart, parseTemplate, placeholdersIn } from '../../lens/placeholders.ts';
import type { LensVersion } from '../../ports/lenses.ts';
import type { Lenses } from '../../ports/versions.ts';

export interface ReadyLens {
  readonly version: LensVersion;
  readonly parts: readonly TemplatePart[];
  readonly isOptional: (key: string) => boolean;
  readonly checkInput: InputCheck;
  readonly checkOutput: OutputCheck;
}

/** Some have contracts of many kilobytes, compiled. */
const mostKept = 100;

export class LensVersions {
  readonly #lenses: Pick<Lenses, 'summary' | 'version'>;
  readonly #kept = new Map<string, ReadyLens>();

  constructor(lenses: Pick<Lenses, 'summary' | 'version'>) {
    this.#lenses = lenses;
  }

  /** @returns undefined where there is no such lens, or no such version of it */
  async of(scope: Scope, name: string, number?: number): Promise<ReadyLens | undefined> {
    const lens = lensName(name);
    const wanted = number ?? (await this.#lenses.summary(scope, lens))?.latestVersion;
    if (wanted === undefined) return undefined;
    const key = [scope.projectId, scope.environment, lens, wanted].join('#');
    const known = this.#kept.get(key) ?? (await this.#read(scope, lens, wanted));
    if (known === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, known);
    const oldest = this.#kept.keys().next();
    if (this.#kept.size > mostKept && oldest.done !== true) this.#kept.delete(oldest.value);
    return known;
  }

  async #read(scope: Scope, name: LensName, number: number): Promise<ReadyLens | undefined> {
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
