import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const program = fileURLToPath(new URL('../../bin/check-node.mjs', import.meta.url));

/** Asks the module itself, in the words of its own language: it is the one file that must run on any Node. */
const found = (version: string, bundled: readonly string[]): unknown =>
  JSON.parse(
    execFileSync(process.execPath, [
      '--input-type=module',
      '-e',
      `import { findNode } from ${JSON.stringify(program)};
       console.log(JSON.stringify(findNode(${JSON.stringify(version)}, ${JSON.stringify(bundled)}) ?? null));`,
    ]).toString(),
  );

const echo = (): string => {
  const path = join(tmpdir(), 'echo-arguments.ts');
  writeFileSync(
    path,
    'const given: string[] = process.argv.slice(2);\nconsole.log(JSON.stringify(given));\nprocess.exitCode = 7;\n',
  );
  return path;
};

describe('the Node to run with', () => {
  it('is this one where it is new enough', () => {
    expect(found('24.0.0', [])).toBe(process.execPath);
    expect(found('26.1.0', [])).toBe(process.execPath);
  });

  it('is the one that came with the project where this one is too old', () => {
    expect(found('20.20.2', ['/nowhere/node', program])).toBe(program);
    expect(found('9.0.0', [program])).toBe(program);
  });

  it('is none where there is neither', () => {
    expect(found('20.20.2', ['/nowhere/node'])).toBeNull();
  });
});

it('the repository asks for the Node that it runs on', () => {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
  expect(manifest).toMatchObject({ engines: { node: '>=24' } });
  expect(readFileSync(program, 'utf8')).toContain('const minNodeMajor = 24;');
});

it('a program is run with its arguments, and its exit code is passed on', () => {
  const { stdout, status } = spawnSync(process.execPath, [program, echo(), '--one', 'two words']);
  expect(JSON.parse(stdout.toString())).toEqual(['--one', 'two words']);
  expect(status).toBe(7);
});

it('without a program only the version is checked', () => {
  expect(spawnSync(process.execPath, [program]).status).toBe(0);
});

it('nothing is imported by name that an older Node does not have, or it could not say that it is too old', () => {
  const names = [...readFileSync(program, 'utf8').matchAll(/^import \{([^}]*)\} from/gm)].flatMap(([, list = '']) =>
    list.split(',').map((name) => name.trim()),
  );
  expect(names.toSorted()).toEqual(['existsSync', 'fileURLToPath', 'pathToFileURL', 'resolve', 'spawn']);
});
