/** Makes one module of a project's files, the same wherever the project lies and whenever it is made. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BuildFailure, type Metafile, build } from 'esbuild';
import { sha256 } from '../../artifact/validate-archive.ts';
import { CliError } from '../command.ts';
import { sdkPlugin } from './resolve-sdk.ts';

export interface BundledWorkflows {
  /** ES module: exports `workflows`, and `files`, which says of each where it is written */
  readonly module: Uint8Array;
  /** of a file and all that it imports: another one, where any of it has changed */
  readonly digestOf: (file: string) => string;
  /** their full paths */
  readonly sources: readonly string[];
}

/** ES modules have no `require`; bundled CommonJS packages still ask for Node's own modules with it. */
const requireBanner = `import { createRequire as stepwellRequire } from 'node:module'; const require = stepwellRequire(import.meta.url);`;

/** Workflows are known by their mark: files may export other things too, and one workflow may be exported twice. */
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

/** @throws CliError with each fault and its place */
export async function bundleWorkflows(root: string, files: readonly string[]): Promise<BundledWorkflows> {
  try {
    const { outputFiles, metafile } = await build({
      absWorkingDir: root,
      stdin: { contents: entrySource(files), resolveDir: root, sourcefile: 'workflows.mjs', loader: 'js' },
      outfile: 'workflows.mjs',
      write: false,
      metafile: true,
      bundle: true,
      format: 'esm',
      platform: 'node',
      target: 'node24',
      mainFields: ['module', 'main'],
      // Otherwise the paths of packages would be in it, and with them where the project lies.
      minify: true,
      // Errors are told by their names.
      keepNames: true,
      legalComments: 'none',
      banner: { js: requireBanner },
      plugins: [sdkPlugin],
      logLevel: 'silent',
    });
    const [output] = outputFiles;
    if (output === undefined) throw new Error('esbuild wrote nothing');
    const { inputs } = metafile;
    return {
      module: output.contents,
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

const isBuildFailure = (error: unknown): error is BuildFailure => error instanceof Error && 'errors' in error;

/** By what they hold: where they lie says nothing. */
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
