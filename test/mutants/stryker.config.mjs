/** What is the same for all mutants; which files, which tests and how many at a time comes with each run (try-mutants.ts). */

/** @type {import('@stryker-mutator/core').PartialStrykerOptions} */
export default {
  testRunner: 'vitest',
  plugins: ['@stryker-mutator/vitest-runner'],
  vitest: { configFile: 'test/mutants/vitest.config.ts', related: false },
  coverageAnalysis: 'perTest',
  // A text says something to a person, and to mutate it shows only which messages tests repeat. Names that rules hang on are
  // members of unions: a wrong one would not compile.
  mutator: { excludedMutations: ['StringLiteral'] },
  // What is evaluated when its module is loaded would need every test, in a new thread, for each mutant.
  ignoreStatic: true,
  // The tree is copied, without what no test of the engine reads; TypeScript's settings need no rewriting for that.
  ignorePatterns: ['**', '!package.json', '!tsconfig.json', '!lib/**', '!test/**', '!functions/**', '!examples/**'],
  tsconfigFile: 'none.json',
  cleanTempDir: 'always',
  // Generous: a crowded machine must not make a mutant look caught.
  timeoutMS: 20_000,
  timeoutFactor: 3,
  dryRunTimeoutMinutes: 15,
  reporters: ['progress-append-only'],
  allowConsoleColors: false,
  logLevel: 'error',
};
