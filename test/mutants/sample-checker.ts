/**
 * Stryker's checker for a random sample: it refuses each mutant outside the sample, so only the sample is tried. A hash of the seed
 * and the mutant decides, so a seed selects the same mutants while the sources are the same.
 */
import { createHash } from 'node:crypto';

/** Environment variable with the seed and the part of all mutants, such as `7 0.05`; Stryker starts the checker in its own process. */
export const sampleVariable = 'STEPWELL_MUTANT_SAMPLE';

/** What the rule needs of Stryker's mutant. */
interface Mutant {
  readonly id: string;
  readonly fileName: string;
  readonly location: object;
  readonly mutatorName: string;
  readonly replacement: string;
}

function isInSample({ fileName, location, mutatorName, replacement }: Mutant, sample: string): boolean {
  const [seed = '', part = ''] = sample.split(' ');
  const path = fileName.replaceAll('\\', '/').replace(/^.*\/lib\/engine\//, '');
  const digest = createHash('sha256')
    .update(JSON.stringify([seed, path, location, mutatorName, replacement]))
    .digest();
  return digest.readUIntBE(0, 6) / 2 ** 48 < Number(part);
}

const checker = {
  init: async (): Promise<void> => {},
  group: async (mutants: readonly Mutant[]) => [mutants.map(({ id }) => id)],
  check: async (mutants: readonly Mutant[]) => {
    const sample = process.env[sampleVariable] ?? '';
    const verdictOf = (mutant: Mutant) =>
      isInSample(mutant, sample) ? { status: 'passed' } : { status: 'compileError', reason: 'not in the sample' };
    return Object.fromEntries(mutants.map((mutant) => [mutant.id, verdictOf(mutant)]));
  },
};

export const strykerPlugins = [{ kind: 'Checker', name: 'sample', value: checker }];
