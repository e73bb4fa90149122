/**
 * The order of the files of a run: what takes long begins early, so that no file is left to run alone at the end. First come the
 * files that wait for processes, installations and timers, because other files work meanwhile.
 */
import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Files of other projects are short and many. */
const projectsFirst: readonly string[] = ['e2e', 'simulation', 'hostile', 'contract', 'conformance'];

/** Each takes more than twenty seconds on two cores; the longest of each tier and project come first. */
export const longFiles: readonly string[] = [
  'test/devkit/next.deep.test.ts',
  'test/scripts/build-packages.deep.test.ts',
  'test/devkit/large-values.deep.test.ts',
  'test/e2e/fuzz.deep.test.ts',
  'test/devkit/first-app.deep.test.ts',
  'test/devkit/messages.deep.test.ts',
  'test/bench/golden-counts.deep.test.ts',
  'test/devkit/world-testing.deep.test.ts',
  'test/browser/resilience.deep.test.ts',
  'test/devkit/inspect.deep.test.ts',
  'test/devkit/web.deep.test.ts',
  'test/scripts/trial.deep.test.ts',
  'test/browser/secrets.deep.test.ts',
  'test/browser/editor-work.deep.test.ts',
  'test/browser/run-page.deep.test.ts',
  'test/devkit/kills.deep.test.ts',
  'test/devkit/artifacts.deep.test.ts',
  'test/browser/speed.deep.test.ts',
  'test/e2e/kills.deep.test.ts',
  'test/devkit/encrypted-runs.deep.test.ts',
  'test/e2e/two-versions.deep.test.ts',
  'test/e2e/resumed-watch.deep.test.ts',
  'test/e2e/documents.deep.test.ts',
  'test/e2e/queries.deep.test.ts',
  'test/devkit/webhooks.deep.test.ts',
  'test/e2e/triggers.deep.test.ts',
  'test/e2e/clock.deep.test.ts',
  'test/e2e/lenses.deep.test.ts',
  'test/e2e/secrets.deep.test.ts',
  'test/e2e/stored-settings.deep.test.ts',
  'test/e2e/bus.deep.test.ts',
  'test/e2e/openworkflow-runs.deep.test.ts',
  'test/bench/golden-counts.test.ts',
  'test/e2e/code-workflows.test.ts',
  'test/e2e/bad-input.test.ts',
  'test/e2e/cli.deep.test.ts',
  'test/bench/golden-lists.deep.test.ts',
  'test/e2e/sockets.test.ts',
  'test/bench/golden-devkit.deep.test.ts',
  'test/simulation/planted-bugs/planted-bugs.deep.test.ts',
  'test/simulation/crash-matrix-1.deep.test.ts',
  'test/simulation/crash-matrix-2.deep.test.ts',
  'test/simulation/crash-matrix-3.deep.test.ts',
  'test/simulation/crash-matrix-4.deep.test.ts',
  'test/simulation/chaos-seeds-1.deep.test.ts',
  'test/simulation/chaos-seeds-2.deep.test.ts',
  'test/simulation/chaos-seeds-3.deep.test.ts',
  'test/simulation/chaos-seeds-4.deep.test.ts',
  'test/simulation/chaos-seeds-rotating.deep.test.ts',
  'test/simulation/crashes.deep.test.ts',
  'test/cli/project.test.ts',
  'test/bundles/local-bundles.test.ts',
];

/** Files in the order in which they take the most time. */
export const longestFirst = (files: readonly string[]): readonly string[] =>
  files.toSorted((one, other) => placeIn(longFiles, one) - placeIn(longFiles, other) || (one < other ? -1 : 1));

/** The place in a list; what is not in it comes last. */
const placeIn = (list: readonly string[], item: string): number => {
  const index = list.indexOf(item);
  return index === -1 ? list.length : index;
};

export default class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const places = new Map(
      files.map((file) => {
        const project = placeIn(projectsFirst, file.project.name);
        return [file, [project, placeIn(longFiles, relative(this.ctx.config.root, file.moduleId))]];
      }),
    );
    const placeOf = (file: TestSpecification, of: 0 | 1): number => places.get(file)?.[of] ?? 0;
    // A stable sort: by what vitest knows of earlier runs or by size, except for the listed files. Projects stay together.
    return (await super.sort(files)).sort(
      (one, other) =>
        placeOf(one, 0) - placeOf(other, 0) ||
        one.project.name.localeCompare(other.project.name) ||
        placeOf(one, 1) - placeOf(other, 1),
    );
  }
}
