/** `stepwell types`: the types of published graphs, and what the client makes of them. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type CliEnvironment, type TestCli, createCliEnvironment, createFolder } from './test-cli.ts';

let environment: CliEnvironment;
let admin: TestCli;
let cwd: string;
beforeEach(async () => {
  environment = createCliEnvironment();
  cwd = createFolder();
  admin = await environment.cliWithScopes(['admin'], { cwd });
});

const publish = async (name: string, graph: object): Promise<void> => {
  const { status, body } = await environment.api.call('POST', '/v1/workflows', {
    key: await environment.api.key(['admin']),
    body: { name, ...graph },
  });
  expect({ status, body }).toMatchObject({ status: 201 });
};

const start = { id: 'start', type: 'start' };
const end = (id: string, config: object) => ({ id, type: 'end', config });
const edge = (source: string, target: string) => ({ source, target });
const args = [
  { name: 'orderId', type: 'string', required: true },
  { name: 'lines', type: 'array', required: true },
  { name: 'note', type: 'object', required: false },
];
const order = {
  nodes: [
    start,
    end('done', {
      outputParameters: [
        { name: 'orderId', sourceVariable: '{{ctx.input.orderId}}' },
        { name: 'source', value: 'web' },
        { name: 'lines', sourceVariable: '{{ctx.input.lines}} and more' },
      ],
    }),
  ],
  edges: [edge('start', 'done')],
  options: { args },
};
const anything = {
  nodes: [start, end('a', {}), end('b', { outputParameters: [{ name: 'n', value: 3 }] })],
  edges: [edge('start', 'a'), edge('start', 'b')],
};

test('has the declared arguments, and the outputs of the ends that succeed', async () => {
  await publish('order', order);
  await publish('anything', anything);
  const { out, exitCode } = await admin.type('types');
  expect(exitCode).toBe(0);
  expect(out).toBe(`/** The published graph workflows. Written by \`stepwell types\`: run it again after a publication. */
export interface Workflows {
  "anything": {
    readonly input?: unknown;
    readonly output: {
      readonly n?: number;
    };
  };
  "order": {
    readonly input: {
      readonly orderId: string;
      readonly lines: readonly unknown[];
      readonly note?: { readonly [key: string]: unknown };
    };
    readonly output: {
      readonly orderId: string;
      readonly source: string;
      readonly lines: unknown;
    };
  };
}
`);
});

test('the file gives a start its types: a compiler accepts a right program and refuses a wrong one', async () => {
  await publish('order', order);
  expect((await admin.type('types', '--out', 'workflows.ts')).out).toBe('workflows.ts: the types of 1 workflow\n');
  const root = process.cwd();
  mkdirSync(join(cwd, 'node_modules'));
  for (const name of ['zod', 'canonicalize', '@types'])
    symlinkSync(join(root, 'node_modules', name), join(cwd, 'node_modules', name));
  const program = (call: string): string =>
    [
      `import { StepwellClient } from '${join(root, 'lib/client/index.ts')}';`,
      `import type { Workflows } from './workflows.ts';`,
      `const client = new StepwellClient<Workflows>({ baseUrl: 'http://localhost', apiKey: 'k' });`,
      `export const id: Promise<string> = ${call};`,
    ].join('\n');
  const compiler = createRequire(import.meta.url)
    .resolve('typescript/package.json')
    .replace(/package\.json$/, 'bin/tsc');
  /** What one run of the compiler finds in each program. */
  const compile = (calls: readonly string[]): readonly string[] => {
    const files = calls.map((_call, index) => `program-${index}.ts`);
    calls.forEach((call, index) => writeFileSync(join(cwd, `program-${index}.ts`), program(call)));
    const options = [
      '--noEmit',
      '--types',
      'node',
      '--exactOptionalPropertyTypes',
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'esnext',
      '--allowImportingTsExtensions',
      '--skipLibCheck',
    ];
    const { stdout } = spawnSync(process.execPath, [compiler, ...options, ...files], { cwd, encoding: 'utf8' });
    // The lines below a finding are indented.
    const findings = stdout.split(/\n(?=\S)/).filter((finding) => finding !== '');
    expect(findings.filter((finding) => !files.some((file) => finding.startsWith(`${file}(`)))).toEqual([]);
    return files.map((file) => findings.filter((finding) => finding.startsWith(`${file}(`)).join('\n'));
  };
  const right = `client.runs.start('order', { input: { orderId: 'o1', lines: [] } }).then((run) => run.output()).then(({ orderId }) => orderId)`;
  expect(
    compile([
      right,
      right.replace(`orderId: 'o1'`, 'orderId: 1'),
      right.replace(`'order'`, `'oder'`),
      right.replace('({ orderId }) => orderId', '({ lines }) => lines'),
    ]),
  ).toEqual([
    '',
    expect.stringMatching(/Type 'number' is not assignable to type 'string'/),
    expect.stringMatching(/'"oder"' is not assignable to parameter of type/),
    expect.stringMatching(/'unknown' is not assignable to type 'string'|unknown/),
  ]);
}, 60_000);

test('without published graphs the list is empty', async () => {
  expect((await admin.type('types')).out).toContain('export interface Workflows {\n}\n');
  await admin.type('types', '--out', 'workflows.ts');
  expect(readFileSync(join(cwd, 'workflows.ts'), 'utf8')).toContain('export interface Workflows');
});
