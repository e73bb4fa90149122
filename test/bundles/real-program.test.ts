/** Threads as in production: an author's module, bundled with the SDK and executed by the real program thread. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { programThreadFile, threadFile } from '../../lib/bundles/thread-start.ts';
import { buildProject } from '../../lib/cli/project/build-project.ts';
import { readProject } from '../../lib/cli/project/project.ts';
import { attempt, commitNo } from '../../lib/engine/ids.ts';
import { instant } from '../../lib/engine/time.ts';
import { freshFolder, scope } from './given.ts';
import { programsOf } from './programs-given.ts';

// Starting threads and bundling can take long on a busy machine.
vi.setConfig({ testTimeout: 60_000 });

const source = `
import { defineWorkflow } from 'stepwell/sdk';

export const greet = defineWorkflow({ name: 'greet' }, async ({ input, step }) => {
  const both = await Promise.all([1, 2].map((n) => step.run({ name: \`half \${n}\` }, () => { console.log('half', n); return input * n; })));
  return step.run({ name: 'deed' }, async () => {
    if (input === 0) process.exit(4);
    if (input < 0) throw new Error('less than 0');
    return both;
  });
});
`;

const host = async () => {
  const root = freshFolder();
  mkdirSync(join(root, 'workflows'));
  writeFileSync(join(root, 'stepwell.config.json'), '{}');
  writeFileSync(join(root, 'workflows', 'greet.ts'), source);
  const shell = { cwd: root, log: () => {}, sleep: () => new Promise<void>(() => {}), signal: new AbortController().signal };
  const { manifest, archive } = await buildProject(shell, await readProject(shell), undefined);
  const made = programsOf({ file: threadFile(programThreadFile) });
  await made.artifacts.put({ scope, deploymentId: manifest.deploymentId, sha256: manifest.artifact.sha256 }, archive);
  return { ...made, manifest };
};

test('a project’s workflow is built, imported and executed batch by batch, and its output is forwarded and stored', async () => {
  const made = await host();
  const drive = made.begin(made.manifest, { input: 21 });
  expect(await drive.ended).toEqual({ kind: 'finished' });
  const [first, ...others] = drive.turns;
  expect(first?.entries).toEqual([1, 2].map((n) => ({ kind: 'scheduled', command: { kind: 'function', key: `half ${n}` } })));
  expect(others.flatMap(({ entries }) => entries).filter(({ kind }) => kind !== 'scheduled')).toEqual([
    expect.objectContaining({ kind: 'completed', key: 'half 1', output: 21, printed: ['half 1'] }),
    expect.objectContaining({ kind: 'completed', key: 'half 2', output: 42, printed: ['half 2'] }),
    expect.objectContaining({ kind: 'completed', key: 'deed', output: [21, 42] }),
    { kind: 'returned', output: [21, 42] },
  ]);
  expect(made.printed.map(({ text, runId }) => [text, runId])).toEqual(
    [1, 2].map((n) => [`half ${n}`, expect.stringContaining('wrun_')]),
  );
});

test('the running step is blamed for ending the thread', async () => {
  const made = await host();
  expect(await made.begin(made.manifest, { input: 0 }).ended).toEqual({
    kind: 'crashed',
    message: 'the code ended its thread with code 4',
    running: [{ key: 'deed', attempt: 1 }],
  });
});

test('an unknown workflow is reported, and a step of an earlier task is lost', async () => {
  const made = await host();
  expect(await made.begin(made.manifest, { workflow: 'other' }).ended).toMatchObject({ kind: 'unknown_workflow' });
  const open = [{ key: 'half 1', attempt: attempt(1), dispatchCommit: commitNo(2), lostAttempts: 0 }];
  const drive = made.begin(made.manifest, {
    input: 1,
    open,
    entries: [
      { kind: 'scheduled', key: 'half 1', step: 'function' },
      { kind: 'scheduled', key: 'half 2', step: 'function' },
      { kind: 'settled', key: 'half 2', result: { status: 'completed', output: 7, endedAt: instant(Date.now()) } },
    ],
  });
  expect(await drive.ended).toEqual({ kind: 'finished' });
  expect(drive.turns[0]?.entries[0]).toMatchObject({ kind: 'retried', key: 'half 1', failure: { cause: 'lost' } });
  expect(drive.turns.at(-1)?.entries.at(-1)).toEqual({ kind: 'returned', output: [1, 7] });
});

test('the failure of a step names the author’s line, and no folder of this machine', async () => {
  const made = await host();
  const drive = made.begin(made.manifest, { input: -1 });
  await drive.ended;
  const failures = drive.turns.flatMap(({ entries }) => entries.flatMap((entry) => ('failure' in entry ? [entry.failure] : [])));
  expect(failures[0]).toMatchObject({ message: 'less than 0', details: { at: 'workflows/greet.ts:8:26' } });
  expect(failures[0]?.details?.['stack']).toMatch(/^at .*workflows\/greet\.ts:8:26/);
  expect(JSON.stringify(failures)).not.toMatch(/file:|\/tmp\/|program-thread/);
});
