/** docs/TUTORIAL.md and the first run of README.md: a reader's shell pastes each line in order. */
import { mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Block, blocksIn, readerShell } from './documents.ts';
import { freshFolder, preparedFolder, root, startLocal, type LocalStart } from './local-start.ts';

const folder = freshFolder();
const state = join(folder, '.stepwell');
let local: LocalStart;
beforeAll(async () => {
  preparedFolder(state);
  for (const name of ['examples', 'bin', 'lib', 'functions', 'cdk.json', 'package.json'])
    symlinkSync(join(root, name), join(folder, name));
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true });
  symlinkSync(join(root, 'bin/stepwell-cli.mjs'), join(folder, 'node_modules/.bin/stepwell'));
  local = await startLocal(state);
});
afterAll(() => local.end('SIGKILL'));

/** One reader. @returns what pastes a block and returns what it printed */
const reader = () => {
  const shell = readerShell(folder);
  return async ({ lines }: Block): Promise<string> => {
    const { stdout, stderr } = await shell(lines);
    return stdout + stderr;
  };
};

describe('docs/TUTORIAL.md', () => {
  const blocks = blocksIn('docs/TUTORIAL.md');
  const under = (heading: string): readonly Block[] => blocks.filter((block) => block.heading === heading);
  const paste = reader();
  const pasteAll = async (some: readonly Block[]): Promise<string> => {
    let printed = '';
    for (const block of some) printed += await paste(block);
    return printed;
  };

  test('the first block installs and starts, which this test did', () => {
    const [install, doctor, ...others] = under('1. Install and start');
    expect([install?.lines, doctor?.lines, others]).toEqual(['npm ci\nnpm start\n', 'npx stepwell doctor\n', []]);
  });

  test('doctor finds no fault', async () => {
    expect(await pasteAll(under('1. Install and start').slice(1))).not.toContain('✗');
  });

  test('a first workflow runs', async () => {
    expect(await pasteAll(under('2. A first workflow'))).toContain('{"total":50}');
  });

  test('a run fails, explain names the node and the error, and the repaired run completes', async () => {
    const blocksOfRepair = under('3. A failure, and its repair');
    const failed = await pasteAll(blocksOfRepair.slice(0, 1));
    expect(failed).toMatch(/It failed at .*node label failed: .*city/);
    const repaired = await pasteAll(blocksOfRepair.slice(1));
    expect(repaired).toContain('"label": "r-17 to Bergen"');
    expect(repaired).toMatch(/✓ completed/);
    expect(repaired).toMatch(/ship@2/);
  });

  test('a code run continues after a crash, and counted shelves keep their results', async () => {
    const [deploy, kill, result] = under('4. A workflow as code');
    if (deploy === undefined || kill === undefined || result === undefined) throw new Error('the tutorial has no code workflow');
    expect(await paste(deploy)).toContain('count-stock');
    const { pid } = local;
    expect(await paste(kill)).toMatch(/rice .*completed/);
    await expect.poll(() => local.end('SIGKILL'), { timeout: 5_000 }).toBeNull();
    local = await startLocal(state);
    const printed = await paste(result);
    const counted = [...printed.matchAll(/"shelf": "(\w+)",\s+"process": (\d+)/g)].map(([, shelf, by]) => [shelf, Number(by)]);
    expect(counted.map(([shelf]) => shelf)).toEqual(['tea', 'rice', 'salt', 'oats', 'nuts', 'figs', 'dates', 'beans']);
    expect(counted.slice(0, 2).map(([, by]) => by)).toEqual([pid, pid]);
    expect(counted.at(-1)?.[1]).toBe(local.pid);
  });

  test('a run that sleeps while the cloud is killed wakes and completes', async () => {
    const [kill, result, ...others] = under('4. A workflow as code').slice(3);
    expect(others).toEqual([]);
    if (kill === undefined || result === undefined) throw new Error('the tutorial kills no sleeping run');
    expect(await paste(kill)).toContain('sleeping');
    await expect.poll(() => local.end('SIGKILL'), { timeout: 5_000 }).toBeNull();
    local = await startLocal(state);
    expect(await paste(result)).toContain('Remember: water the plants');
  });

  test('the template synthesizes: the last block is the one that npm run synth runs', () => {
    expect(under('5. Deploy to AWS').map(({ lines }) => lines)).toEqual(['npx cdk synth --quiet\n']);
  });
});

test('README.md: its first run ends as it says', async () => {
  const paste = reader();
  let printed = '';
  for (const block of blocksIn('README.md').filter(({ heading }) => heading === 'A first run')) printed += await paste(block);
  expect(printed).toContain('✓ completed');
  expect(printed).toContain('{"due":135}');
});
