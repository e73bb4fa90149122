/** Builds a project of code workflows: bundles its files, imports the bundle to list its workflows, and packs the artifact. */
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, matchesGlob, relative, resolve, sep } from 'node:path';
import { build, type BuildFailure, type Metafile } from 'esbuild';
import * as z from 'zod';
import { createDeploymentBody } from '../../api/schemas/deployments.ts';
import { packArchive } from '../../artifact/pack-archive.ts';
import { sha256 } from '../../artifact/archive-rules.ts';
import { type Artifact, contentId, validateManifest } from '../actions/artifact.ts';
import { digestPath, workflowLabel } from '../actions/compare-deployments.ts';
import { CliError } from '../command.ts';
import { type ImportContext, importInThread } from './import-in-thread.ts';
import type { Project } from './project.ts';
import { sdkPlugin } from './resolve-sdk.ts';
import { programPath } from '../../ports/programs.ts';

export interface BuiltProject extends Artifact {
  readonly workflows: readonly SourceWorkflow[];
  readonly moduleBytes: number;
  /** full paths of the files in the module */
  readonly sources: readonly string[];
}

/** @throws CliError */
export async function buildProject(
  context: ImportContext,
  project: Project,
  requestedId: string | undefined,
  requestedApp?: Project['app'],
): Promise<BuiltProject> {
  const { module, sourceMap, digestOf, sources } = await bundleWorkflows(project.root, workflowFiles(project));
  const workflows = await readWorkflows(context, module);
  const digests = workflows.map((each) => [digestPath(each), Buffer.from(`${digestOf(each.file)}\n`)] as const);
  const { archive, ...packed } = await packArchive(
    new Map([[programPath, module], [`${programPath}.map`, sourceMap], ...digests]),
  );
  const app = requestedApp ?? project.app;
  const manifest = validateManifest(
    createDeploymentBody,
    {
      deploymentId: requestedId ?? contentId(app, packed.artifact.sha256),
      specVersion: 1,
      app,
      runtime: 'code',
      workflows: workflows.map(({ file: _file, ...named }) => named),
      ...packed,
    },
    project.root,
  );
  return { manifest, archive: new Uint8Array(archive), workflows, moduleBytes: module.byteLength, sources };
}

const excludedPatterns = ['**/node_modules/**', '**/*.d.{ts,mts}', '**/*.{test,spec}.{ts,mts,js,mjs}'];

/** Paths relative to the project, with forward slashes, sorted. @throws CliError if there are none, or a folder is outside */
export function workflowFiles({ root, dirs, ignorePatterns }: Project): readonly string[] {
  const found = dirs.flatMap((dir) => {
    const directory = relative(root, resolve(root, dir)).split(sep).join('/');
    if (directory === '..' || directory.startsWith('../'))
      throw new CliError('config_invalid', `The folder ${dir} is outside of ${root}.`);
    const files = globSync(`**/*.{ts,mts,js,mjs}`, { cwd: resolve(root, dir) }).map((file) => file.split(sep).join('/'));
    return files.map((file) => (directory === '' ? file : `${directory}/${file}`));
  });
  const files = found.filter((file) => ![...excludedPatterns, ...ignorePatterns].some((pattern) => matchesGlob(file, pattern)));
  if (files.length === 0) throw new CliError('build_failed', `There is no workflow file in ${dirs.join(', ')} of ${root}.`);
  return [...new Set(files)].toSorted((left, right) => (left < right ? -1 : 1));
}

interface BundledWorkflows {
  /** ES module: exports `workflows`, and `files` with the source file of each workflow */
  readonly module: Uint8Array;
  /** maps the module to the files of the project, without their contents */
  readonly sourceMap: Uint8Array;
  /** digest of a file and everything that it imports */
  readonly digestOf: (file: string) => string;
  /** full paths */
  readonly sources: readonly string[];
}

/** ES modules have no `require`, but bundled CommonJS packages load Node's modules with it. */
const requireBanner = `import { createRequire as stepwellRequire } from 'node:module'; const require = stepwellRequire(import.meta.url);`;

/** Finds workflows by their marker: files can export other values too, and one workflow can be exported twice. */
const entrySource = (files: readonly string[]): string =>
  [
    ...files.map((file, index) => `import * as m${index} from ${JSON.stringify(`./${file}`)};`),
    `const modules = [${files.map((file, index) => `[${JSON.stringify(file)}, m${index}]`).join(', ')}];`,
    `const isWorkflow = (value) => typeof value === 'object' && value !== null && value[Symbol.for('stepwell.workflow')] === 1;`,
    `const found = new Map();`,
    `for (const [file, module] of modules)`,
    `  for (const value of Object.values(module)) if (isWorkflow(value) && !found.has(value)) found.set(value, file);`,
    `export const workflows = [...found.keys()];`,
    `export const files = [...found.values()];`,
  ].join('\n');

/** @throws CliError with each error and its location */
async function bundleWorkflows(root: string, files: readonly string[]): Promise<BundledWorkflows> {
  try {
    const { outputFiles, metafile } = await build({
      absWorkingDir: root,
      stdin: { contents: entrySource(files), resolveDir: root, sourcefile: 'workflows.mjs', loader: 'js' },
      outfile: programPath,
      write: false,
      metafile: true,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      mainFields: ['module', 'main'],
      // Minified output contains no package paths, so it does not depend on the project's location.
      minify: true,
      // Error classes are identified by name.
      keepNames: true,
      legalComments: 'none',
      // The module does not name its map: Node would parse it at each import. The stack of an error is mapped when it is stored.
      sourcemap: 'external',
      sourcesContent: false,
      banner: { js: requireBanner },
      plugins: [sdkPlugin],
      logLevel: 'silent',
    });
    const output = outputFiles.find(({ path }) => path.endsWith(programPath));
    const map = outputFiles.find(({ path }) => path.endsWith('.map'));
    if (output === undefined || map === undefined) throw new Error('esbuild wrote no module or no source map');
    const { inputs } = metafile;
    return {
      module: output.contents,
      sourceMap: Buffer.from(JSON.stringify(withProjectPaths(sourceMapShape.parse(JSON.parse(map.text))))),
      digestOf: (file) => digestOf(root, inputs, file),
      sources: Object.keys(inputs)
        .map((path) => join(root, path))
        .filter((path) => existsSync(path)),
    };
  } catch (error) {
    if (!isBuildFailure(error)) throw error;
    const messages = error.errors.map(({ text, location }) =>
      location === null ? text : `${location.file}:${location.line}:${location.column + 1}: ${text}`,
    );
    throw new CliError('build_failed', `The workflows cannot be bundled:\n  ${messages.slice(0, 10).join('\n  ')}`);
  }
}

const sourceMapShape = z.looseObject({ sources: z.array(z.string()) });

/** Names packages by their path below `node_modules` and other files outside of the project by their name: the folder does not matter. */
const withProjectPaths = <SourceMap extends { readonly sources: readonly string[] }>(map: SourceMap): SourceMap => ({
  ...map,
  sources: map.sources.map((source) => {
    const packagePath = source.lastIndexOf('node_modules/');
    if (packagePath !== -1) return source.slice(packagePath);
    return source.startsWith('../') ? `../${source.slice(source.lastIndexOf('/') + 1)}` : source;
  }),
});

const isBuildFailure = (error: unknown): error is BuildFailure => error instanceof Error && 'errors' in error;

/** Hashes the contents, not the paths, so that the digest does not depend on the project's location. */
function digestOf(root: string, inputs: Metafile['inputs'], file: string): string {
  const seen = new Set<string>();
  const walk = (path: string): void => {
    const input = inputs[path];
    if (input === undefined || seen.has(path)) return;
    seen.add(path);
    for (const each of input.imports) walk(each.path);
  };
  walk(file);
  const digests = [...seen].map((path) => sha256(readFileSync(join(root, path)))).toSorted();
  return sha256(Buffer.from(digests.join('\n')));
}

interface SourceWorkflow {
  readonly name: string;
  readonly version?: string;
  readonly deadlineSeconds?: number;
  /** relative to the project */
  readonly file: string;
}

const sourceWorkflows = z.array(
  z.object({
    name: z.string(),
    version: z.string().exactOptional(),
    deadlineSeconds: z.int().exactOptional(),
    file: z.string(),
  }),
);

/** Sorted by name and version; the last version of a name is the newest. @throws CliError */
async function readWorkflows(context: ImportContext, module: Uint8Array): Promise<readonly SourceWorkflow[]> {
  const directory = mkdtempSync(join(tmpdir(), 'stepwell-build-'));
  try {
    const path = join(directory, 'workflows.mjs');
    writeFileSync(path, module);
    const imported = await importInThread(context, path, 'workflows');
    if ('error' in imported) throw buildError(imported.error);
    const parsed = sourceWorkflows.safeParse(imported.value);
    if (!parsed.success) throw buildError('the module exports no list of workflows');
    return validateWorkflows(parsed.data);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const buildError = (reason: string): CliError => new CliError('build_failed', `The workflows cannot be imported: ${reason}.`);

function validateWorkflows(workflows: readonly SourceWorkflow[]): readonly SourceWorkflow[] {
  if (workflows.length === 0) throw new CliError('build_failed', 'No file exports a workflow of defineWorkflow.');
  const sorted = workflows.toSorted(
    (left, right) => compareText(left.name, right.name) || compareVersions(left.version, right.version),
  );
  for (const [index, left] of sorted.entries()) {
    const next = sorted[index + 1];
    if (next !== undefined && next.name === left.name && next.version === left.version)
      throw new CliError(
        'build_failed',
        `The workflow ${workflowLabel(left)} is defined twice: in ${left.file} and in ${next.file}.`,
      );
  }
  return sorted;
}

/** Compares by code units, independent of the machine's locale. */
const compareText = (left: string, right: string): number => (left === right ? 0 : left < right ? -1 : 1);

/** No version comes first. Numbers compare numerically: 2 comes before 10. */
function compareVersions(left: string | undefined, right: string | undefined): number {
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined);
  const [leftParts, rightParts] = [left, right].map((version) => version.match(/\d+|\D+/g) ?? []);
  for (const [index, part] of (leftParts ?? []).entries()) {
    const rightPart = rightParts?.[index];
    if (rightPart === undefined) return 1;
    const difference = Number(part) - Number(rightPart);
    const order = Number.isNaN(difference) ? compareText(part, rightPart) : difference;
    if (order !== 0) return order;
  }
  return compareText(left, right);
}
