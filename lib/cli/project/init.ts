/**
 * `stepwell init`: writes a configuration, an example workflow with its test, and a tsconfig. Existing files are not changed, except that
 * a package without sources becomes one of ES modules.
 */
import { existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import type { Action } from '../command.ts';
import { configNames } from '../project-folder.ts';

const config = `import { defineConfig } from 'stepwell/sdk';

export default defineConfig({
  dirs: 'workflows',
});
`;

const example = `import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** npx stepwell runs start greet --input '{"name":"Ada"}' */
export const greet = defineWorkflow({ name: 'greet' }, async ({ input, step }: WorkflowArguments<{ name: string }>) => {
  const greeting = await step.run({ name: 'write' }, () => \`Hello, \${input.name}!\`);
  await step.sleep('pause', '2s');
  return { greeting };
});
`;

/** tsx compiles it where Node does not: Node runs TypeScript from version 22.18. */
const exampleTest = (ending: string): string =>
  [
    "import assert from 'node:assert/strict';",
    "import { test } from 'node:test';",
    "import { WorkflowTest } from 'stepwell/testing';",
    `import { greet } from '../workflows/greet.${ending}';`,
    '',
    "test('greets', async () => {",
    "  const run = await new WorkflowTest({ workflows: [greet] }).start(greet, { name: 'Ada' });",
    "  assert.deepEqual(await run.result(), { greeting: 'Hello, Ada!' });",
    '});',
    '',
  ].join('\n');

const compiler = (ending: string) => ({
  compilerOptions: {
    strict: true,
    target: 'es2024',
    module: 'nodenext',
    types: ['node'],
    noEmit: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: [`stepwell.config.${ending}`, 'workflows', 'tests'],
});

const packageShape = z.looseObject({
  type: z.string().optional(),
  scripts: z.looseObject({ test: z.string().optional() }).optional(),
});
/** What `npm init -y` writes. */
const noTests = /no test specified/;

/** The shell expands the pattern, because Node 20 does not. */
const testScript = 'node --import tsx --test tests/*.test.ts';

interface PackageChange {
  /** of the files to write: `mts` where the package has sources in CommonJS, which a change of its type would break */
  readonly ending: 'ts' | 'mts';
  readonly isChanged: boolean;
}

/**
 * Node reads `.ts` files as ES modules only where the package says so. `npm init -y` writes `"type": "commonjs"`. A package without
 * sources gets `"type": "module"` and a test script.
 */
function preparePackage(cwd: string): PackageChange {
  const file = join(cwd, 'package.json');
  if (!existsSync(file)) return { ending: 'ts', isChanged: false };
  const manifest = packageShape.parse(JSON.parse(readFileSync(file, 'utf8')));
  if (manifest.type === 'module') return { ending: 'ts', isChanged: false };
  const sources = globSync('**/*.{js,cjs,jsx,ts,cts,tsx}', { cwd, exclude: ['**/node_modules/**', '.*/**'] });
  if (sources.length > 0) return { ending: 'mts', isChanged: false };
  const scripts = noTests.test(manifest.scripts?.test ?? '') ? { ...manifest.scripts, test: testScript } : manifest.scripts;
  const changed = { ...manifest, ...(scripts === undefined ? {} : { scripts }), type: 'module' };
  writeFileSync(file, `${JSON.stringify(changed, null, 2)}\n`);
  return { ending: 'ts', isChanged: true };
}

const nextCommands = `Next:
  npm install --save-dev typescript @types/node tsx
  npm test
  npx stepwell dev
In a second terminal:
  npx stepwell runs start greet --input '{"name":"Ada"}'`;

export const init: Action = (_commandLine, { cwd }) => {
  const written: string[] = [];
  const unchanged: string[] = [];
  const write = (path: string, text: string, alternatives: readonly string[] = [path]): void => {
    const existing = alternatives.find((candidate) => existsSync(join(cwd, candidate)));
    if (existing !== undefined) return void unchanged.push(existing);
    mkdirSync(dirname(join(cwd, path)), { recursive: true });
    // `wx` fails if the file was created in the meantime.
    writeFileSync(join(cwd, path), text, { flag: 'wx' });
    written.push(path);
  };
  const isProject = configNames.some((name) => existsSync(join(cwd, name)));
  const { ending, isChanged } = isProject ? { ending: 'ts', isChanged: false } : preparePackage(cwd);
  write(`stepwell.config.${ending}`, config, configNames);
  const bothEndings = (path: string): readonly string[] => [`${path}.ts`, `${path}.mts`];
  write(`workflows/greet.${ending}`, example, bothEndings('workflows/greet'));
  write(`tests/greet.test.${ending}`, exampleTest(ending), bothEndings('tests/greet.test'));
  write('tsconfig.json', `${JSON.stringify(compiler(ending), null, 2)}\n`);
  write('.gitignore', 'node_modules/\n.stepwell/\n');
  const text = [
    ...written.map((path) => `+ ${path}`),
    ...(isChanged ? ['~ package.json: "type": "module"'] : []),
    ...unchanged.map((path) => `  ${path} exists and is not changed`),
    ...(written.length === 0 ? [] : [nextCommands]),
  ];
  return Promise.resolve({
    data: { written, kept: unchanged, changed: isChanged ? ['package.json'] : [] },
    text: text.join('\n'),
  });
};
