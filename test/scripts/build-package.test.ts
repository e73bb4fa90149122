/** What `npm run build:package` makes is a package as an application would have it: it is packed, unpacked, imported and type-checked. */
import { execFile, execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { OtherSide } from '../nodes/other-side.ts';
import { buildPackage } from '../../scripts/build-package.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'stepwell-package-'));
const application = join(folder, 'application');
const modules = join(application, 'node_modules');
const health = { healthy: true, timestamp: '2026-01-01T00:00:00.000Z' };
const run = promisify(execFile);

beforeAll(() => {
  const built = join(folder, 'built');
  buildPackage(built);
  const packed = execFileSync('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder], { cwd: built })
    .toString()
    .trim();
  execFileSync('tar', ['-xzf', packed], { cwd: folder });
  mkdirSync(modules, { recursive: true });
  cpSync(join(folder, 'package'), join(modules, 'stepwell'), { recursive: true });
  const { dependencies }: { dependencies: object } = JSON.parse(readFileSync(join(modules, 'stepwell', 'package.json'), 'utf8'));
  for (const name of [...Object.keys(dependencies), '@types', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(modules, name));
}, 60_000);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('asks for the packages that it uses, and for no more', () => {
  const manifest = JSON.parse(readFileSync(join(modules, 'stepwell', 'package.json'), 'utf8'));
  expect(Object.keys(manifest.dependencies)).toEqual(['canonicalize', 'zod']);
  expect(Object.keys(manifest.exports)).toEqual(['./client', './app-host']);
  expect(existsSync(join(modules, 'stepwell', 'README.md'))).toBe(true);
  const names = readdirSync(join(modules, 'stepwell'), { recursive: true, encoding: 'utf8' });
  expect(names.filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'))).toEqual([]);
});

it('calls a service from plain JavaScript, and knows its doors only', async () => {
  const service = new OtherSide();
  await service.start();
  service.answers((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(health));
  });
  const program = join(application, 'main.mjs');
  writeFileSync(
    program,
    `import { StepwellClient } from 'stepwell/client';
import * as appHost from 'stepwell/app-host';
const client = new StepwellClient({ baseUrl: process.argv[2], apiKey: 'none' });
const inside = await import('stepwell/client/ask.js').catch((error) => error.code);
console.log(JSON.stringify([await client.health(), Object.keys(appHost).length > 0, inside]));
`,
  );
  const { stdout } = await run(process.execPath, [program, service.url('', '127.0.0.1')]);
  await service.stop();
  expect(JSON.parse(stdout)).toEqual([health, true, 'ERR_PACKAGE_PATH_NOT_EXPORTED']);
});

it('has types, which catch a wrong call', () => {
  writeFileSync(join(application, 'package.json'), JSON.stringify({ type: 'module' }));
  writeFileSync(
    join(application, 'right.ts'),
    `import { StepwellClient, type Run } from 'stepwell/client';
const client = new StepwellClient({ baseUrl: 'http://127.0.0.1', apiKey: 'none' });
export const ask = async (): Promise<Run['status']> => (await client.getRun('wrun_1')).status;
`,
  );
  writeFileSync(
    join(application, 'wrong.ts'),
    `import { StepwellClient } from 'stepwell/client';\nexport const bad = new StepwellClient({ baseUrl: 1 });\n`,
  );
  const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
  const faults = (file: string): string => {
    try {
      return execFileSync(process.execPath, [compiler, ...options, file], { cwd: application }).toString();
    } catch (error) {
      return error instanceof Error && 'stdout' in error ? String(error.stdout) : String(error);
    }
  };
  expect(faults('right.ts')).toBe('');
  expect(faults('wrong.ts')).toMatch(/wrong\.ts\(2,\d+\): error TS/);
});
