/** `--help` is fast because the entry statically imports no heavy module. */
import { build } from 'esbuild';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Every source that the entry imports statically. */
async function loadedByHelp(): Promise<readonly string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: ['lib/cli/main.ts'],
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    outdir: 'out',
    write: false,
    metafile: true,
    logLevel: 'silent',
  });
  const seen = new Set<string>();
  const walk = (path: string): void => {
    const source = metafile.inputs[path];
    if (seen.has(path) || source === undefined) return;
    seen.add(path);
    for (const each of source.imports) if (each.kind === 'import-statement' && each.external !== true) walk(each.path);
  };
  walk('lib/cli/main.ts');
  return [...seen];
}

test('--help loads the command declarations, but not the client, the schemas or the prompts', async () => {
  const loaded = await loadedByHelp();
  // Ensures that the walk found the parser and the command files.
  expect(loaded.filter((path) => path.startsWith('lib/cli/commands/')).length).toBeGreaterThanOrEqual(6);
  expect(loaded.some((path) => path.includes('node_modules/commander/'))).toBe(true);
  expect(
    loaded.filter((path) => /node_modules\/(?!commander\/)|lib\/(client|api|artifact|codec|aws|service|nodes)\//.test(path)),
  ).toEqual([]);
  expect(loaded.length).toBeLessThan(40);
});
