/** `stepwell init`: writes a configuration, an example workflow and a tsconfig. Existing files are not changed. */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Action } from '../command.ts';
import { configNames } from './project.ts';

const config = `import { defineConfig } from 'stepwell/sdk';

export default defineConfig({
  dirs: 'workflows',
});
`;

const example = `import { type WorkflowArguments, defineWorkflow } from 'stepwell/sdk';

/** stepwell runs start greet --input '{"name":"Ada"}' */
export const greet = defineWorkflow({ name: 'greet' }, async ({ input, step }: WorkflowArguments<{ name: string }>) => {
  const greeting = await step.run({ name: 'write' }, () => \`Hello, \${input.name}!\`);
  await step.sleep('pause', '2s');
  return { greeting };
});
`;

const compiler = {
  compilerOptions: {
    strict: true,
    target: 'es2024',
    module: 'nodenext',
    noEmit: true,
    erasableSyntaxOnly: true,
    allowImportingTsExtensions: true,
    skipLibCheck: true,
  },
  include: ['stepwell.config.ts', 'workflows'],
};

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
  write('stepwell.config.ts', config, configNames);
  write('workflows/greet.ts', example);
  write('tsconfig.json', `${JSON.stringify(compiler, null, 2)}\n`);
  const text = [
    ...written.map((path) => `+ ${path}`),
    ...unchanged.map((path) => `  ${path} exists and is not changed`),
    ...(written.length === 0 ? [] : ['Deploy it with stepwell deploy, or on every change with stepwell dev.']),
  ];
  return Promise.resolve({ data: { written, kept: unchanged }, text: text.join('\n') });
};
