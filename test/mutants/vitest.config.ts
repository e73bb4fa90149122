/** The tests that judge mutants of the engine: cheapest first, one after the other in one thread. */
import { join } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { areas, everyTest } from './areas.ts';

/** Dear ones last, the dearest at the end: most mutants are caught before any of them is asked. */
const dear = [
  'graph/random-graphs',
  'graph/budgets',
  'validate-exclusive',
  'fetch/decide',
  'graph/topologies',
  'program/steps',
  'graph/payload-limits',
  'graph/loops',
];

class CheapestFirst extends BaseSequencer {
  override sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const price = ({ moduleId }: TestSpecification) => dear.findIndex((name) => moduleId.endsWith(`/${name}.test.ts`));
    const inOrder = files.toSorted((one, other) => price(one) - price(other) || (one.moduleId < other.moduleId ? -1 : 1));
    return Promise.resolve(inOrder);
  }
}

const fewerRuns = join(import.meta.dirname, 'fewer-runs.ts');
/** Where a property plays a whole run in each case. Others are quick, or count how many cases of a kind they met. */
const isDear = (path: string) => /\/test\/engine\/(graph\/|schedule\/|durable\/step)/.test(path);

export default defineConfig({
  plugins: [
    {
      name: 'fewer-runs',
      enforce: 'pre',
      resolveId: (name, importer = '') => (name === 'fast-check' && isDear(importer) ? fewerRuns : undefined),
    },
  ],
  test: {
    include: [...new Set([...areas.flatMap(({ tests }) => tests), ...everyTest])],
    // A new thread for each file would cost more than its tests. What modules do when they are loaded is not mutated.
    isolate: false,
    sequence: { sequencer: CheapestFirst },
    testTimeout: 60_000,
  },
});
