import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import LongFilesFirst, { longestFirst } from './test/long-files-first.ts';
import { inBothTiers, leftOut, tier, tierVariable } from './test/tier.ts';

const deepFiles = '**/*.deep.test.ts';

interface ProjectOptions {
  readonly exclude?: readonly string[];
  readonly isolate?: boolean;
  readonly setupFiles?: string;
  readonly globalSetup?: string;
  readonly testTimeout?: number;
  readonly hookTimeout?: number;
  readonly sequence?: { readonly groupOrder: number };
  readonly maxWorkers?: number;
}

type Project = readonly [name: string, include: readonly string[], options?: ProjectOptions];

const projectOf = ([name, include, { exclude = [], ...options } = {}]: Project) => ({
  test: {
    name,
    include: tier === 'quick' ? [...include] : [...include.map(deepOf), ...(inBothTiers[name] ?? [])],
    exclude: [...configDefaults.exclude, ...exclude, ...(tier === 'quick' ? [deepFiles] : [])],
    env: { [tierVariable]: tier },
    // A busy machine needs longer than the second that vitest gives a poll. A poll ends when it is met.
    expect: { poll: { timeout: tier === 'quick' ? 10_000 : 60_000 } },
    ...options,
  },
});
const deepOf = (pattern: string): string => pattern.replace(/(\.deep)?\.test\.ts$/, '.deep.test.ts');
/**
 * For files that leave nothing behind: one process takes them one after the other, and imports what they share only once.
 * A second of work for each file otherwise, which is most of what most of them need.
 */
const together = { isolate: false, setupFiles: './test/nothing-left-behind.ts' };
/** They run the whole product as those of `test/e2e` do, and so have its synthesis from there. */
const onTheProduct = [
  'test/scripts/{build-packages,trial}.deep.test.ts',
  'test/bench/{bundles,golden-counts}.test.ts',
  'test/bench/golden-{counts,devkit,lists,loops,short-loops,sweep}.deep.test.ts',
  'test/bench/{estimate,peers}.deep.test.ts',
];
const withoutThose = { exclude: onTheProduct };
/**
 * The suite of the Workflow DevKit counts invocations, and the SDK makes one more where the flush of a stream takes longer than 500 ms. In
 * the quick tier one round runs beside other files.
 */
const needsAnIdleMachine = ['test/devkit/world-testing.deep.test.ts'];
const ofProduct = {
  globalSetup: './test/e2e/synthesize-once.ts',
  // The longest of the deep tier take four minutes on a machine without other work, and four of them run at the same time.
  testTimeout: tier === 'quick' ? 300_000 : 900_000,
  hookTimeout: tier === 'quick' ? 120_000 : 480_000,
};
/** They take most of the time of the deep tier. */
const ofDeepProduct =
  tier === 'deep'
    ? longestFirst(
        globSync([
          'test/{e2e,devkit,browser}/**/*.deep.test.ts',
          ...onTheProduct.filter((pattern) => pattern.includes('.deep.')),
        ]),
      )
    : [];

/** The projects with the files of both tiers: a run takes those of its own. Each test file belongs to one project. */
export const projects: readonly Project[] = [
  [
    'unit',
    [
      'test/{artifact,base,egress,engine,event-stream,service,nodes,api,aws,memory,codec,local,contract-names,functions,scripts,cli,client,bundles,app-host,world,ownership,triggers,webhooks,lens,models,sdk,program,histories,testing,openworkflow,mutants,console}/**/*.test.ts',
      'examples/*/tests/**/*.test.ts',
    ],
    { ...together, ...withoutThose, testTimeout: 60_000, hookTimeout: 60_000 },
  ],
  ['tidy', ['test/tidy/**/*.test.ts'], together],
  ['docs', ['test/docs/**/*.test.ts'], { ...together, testTimeout: 60_000, hookTimeout: 60_000 }],
  ['contract', ['test/contract/**/*.test.ts'], { ...together, testTimeout: 60_000, hookTimeout: 60_000 }],
  ['model', ['test/model/**/*.test.ts'], { ...together, testTimeout: 300_000 }],
  ['hostile', ['test/hostile/**/*.test.ts'], { ...together, testTimeout: 60_000, hookTimeout: 60_000 }],
  ['simulation', ['test/simulation/**/*.test.ts'], { ...together, testTimeout: 300_000 }],
  ['conformance', ['test/conformance/**/*.test.ts'], { ...together, testTimeout: 60_000, hookTimeout: 60_000 }],
  ['infra', ['test/infra/**/*.test.ts'], { ...together, testTimeout: 120_000, hookTimeout: 120_000 }],
  ['bench', ['test/bench/**/*.test.ts'], { ...together, ...withoutThose, testTimeout: 300_000, hookTimeout: 300_000 }],
  [
    'e2e',
    ['test/e2e/**/*.test.ts', 'test/devkit/**/*.test.ts', 'test/browser/**/*.test.ts', ...onTheProduct],
    {
      exclude: [...leftOut(ofDeepProduct), ...needsAnIdleMachine],
      ...ofProduct,
    },
  ],
  [
    'alone',
    needsAnIdleMachine,
    tier === 'deep' ? { exclude: leftOut(ofDeepProduct), ...ofProduct, sequence: { groupOrder: 1 }, maxWorkers: 1 } : {},
  ],
];

export default defineConfig({
  test: {
    // Two more than there are cores: a third of the time of a run is tests that wait for timers, processes and answers.
    maxWorkers: availableParallelism() + 2,
    globalSetup: ['./test/temporary-folder.ts', './test/compile-cache.ts'],
    // Node loads what is tested as it loads the product: through vitest's own runner it takes up to a third longer.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    sequence: { sequencer: LongFilesFirst },
    reporters: ['default', './test/progress.ts'],
    projects: projects.map(projectOf),
    coverage: { provider: 'v8', include: ['lib/engine/**'] },
  },
});
