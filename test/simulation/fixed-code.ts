/** Fixed code workflows: each kind of part, alone and nested, and the code examples. */
import { defaultApp, type Manifest, pointerAfter } from '../../lib/ports/deployments.ts';
import { readFileSync, readdirSync } from 'node:fs';
import * as z from 'zod';
import { type DeploymentId, deploymentId } from '../../lib/engine/ids.ts';
import { programPath } from '../../lib/ports/programs.ts';
import type { Instant } from '../../lib/engine/time.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { days, hours } from '../../lib/engine/time.ts';
import type { FixedWorkflow } from './crash-run.ts';
import { type CodeWorkflow, type Part, leafCode, leafNames } from './random-code.ts';
import { leafVersion, simulatedSignalKeys } from './random-graph.ts';
import { scriptedScope } from './scripted.ts';

const step = (more: Partial<Extract<Part, { kind: 'step' }>> = {}): Part => ({
  kind: 'step',
  ms: 5,
  failures: 0,
  mostAttempts: 3,
  hasRollback: false,
  ...more,
});
const seq = (...parts: readonly Part[]): Part => ({ kind: 'seq', parts });
const [place = { name: 'signal-0', correlation: 'thing-0' }] = simulatedSignalKeys;
const [fails, undoable] = [step({ failures: 1_000 }), step({ hasRollback: true })];

const parts: Readonly<Record<string, Part>> = {
  'code: one step': step(),
  'code: steps one after another': seq(step(), step({ ms: 12_000 }), step()),
  'code: a step that is tried again': seq(step({ failures: 2, mostAttempts: 10 }), step()),
  'code: a step that fails and is caught': seq(fails, step()),
  'code: steps side by side': { kind: 'all', parts: [step(), step({ ms: 800 }), step({ ms: 50 })] },
  'code: side by side, and one fails': seq({ kind: 'all', parts: [step(), fails] }, step()),
  'code: all are awaited, however they end': { kind: 'allSettled', parts: [fails, step(), { kind: 'throw' }] },
  'code: a race': { kind: 'race', parts: [step(), { kind: 'sleep', ms: 7_200_000 }] },
  'code: any of two': { kind: 'any', parts: [fails, step()] },
  'code: sleeps': seq({ kind: 'sleep', ms: 300 }, step(), { kind: 'sleep', ms: 600_000 }),
  'code: a sleep beyond the deadline and the first expiry': seq(step(), { kind: 'sleep', ms: days(50) }, step()),
  'code: a signal that comes': seq({ kind: 'signal', place, ms: 0 }, step()),
  'code: a signal that does not come': seq({ kind: 'signal', place: { name: 'signal-1', correlation: 'nothing' }, ms: 20_000 }),
  'code: a signal to itself': seq({ kind: 'send', place }, { kind: 'signal', place, ms: 0 }),
  'code: calls': seq({ kind: 'child', name: leafNames.code, ms: 0 }, { kind: 'child', name: leafNames.graph, ms: 0 }),
  'code: what was done is undone': {
    kind: 'all',
    parts: [
      { kind: 'all', parts: [undoable] },
      { kind: 'all', parts: [fails] },
    ],
  },
  'code: it throws': { kind: 'throw' },
};

const whole = (name: string, part: Part, more: Partial<CodeWorkflow> = {}): FixedWorkflow => {
  const workflow: CodeWorkflow = { name: 'code', mostAttempts: 1, isIdempotent: false, part, ...more };
  return {
    name,
    workflow: 'code',
    input: {},
    publish: async (deps, { functions, around }) => {
      await deps.workflows.putVersion(scriptedScope, leafVersion, around.time.now);
      await deps.workflows.advance(scriptedScope, leafVersion, around.time.now);
      functions.deployed.set(deployed, [leafCode, workflow]);
      await deploy(deps, around.time.now, [leafCode.name, workflow.name]);
    },
    outside: async ({ start, settle, send }) => {
      await start();
      if (name !== 'code: a signal that comes') return;
      await settle();
      await send(place.name, 'at last', { correlation: place.correlation, expiresIn: hours(24) });
    },
  };
};

const deployed: DeploymentId = deploymentId('code-1');

async function deploy({ deployments }: Deps, at: Instant, names: readonly string[]) {
  const manifest: Manifest = {
    deploymentId: deployed,
    specVersion: 1,
    app: defaultApp,
    runtime: 'code',
    workflows: names.map((name) => ({ name, ...(name === 'register-user' ? { version: '2' } : {}) })),
    steps: [],
    files: [{ path: programPath, sha256: '0'.repeat(64), bytes: 1 }],
    artifact: { sha256: '0'.repeat(64), bytes: 1 },
  };
  await deployments.create(scriptedScope, { manifest, createdAt: at, createdBy: null, verifiedAt: at });
  const activation = { deploymentId: deployed, at, by: null };
  await deployments.movePointer(scriptedScope, 0, pointerAfter(undefined, manifest, activation));
}

export const fixedCode: readonly FixedWorkflow[] = [
  ...Object.entries(parts).map(([name, part]) => whole(name, part)),
  whole('code: steps that may be done twice', seq(step(), step({ ms: 800 }), step()), { isIdempotent: true }),
  whole('code: the whole of it is tried again', seq(step(), { kind: 'all', parts: [fails] }), { mostAttempts: 2 }),
];

const folder = new URL('../../examples/code-workflows/', import.meta.url);
const exampleRun = z.strictObject({
  workflow: z.string(),
  input: z.json(),
  signals: z.array(z.strictObject({ name: z.string(), correlation: z.string(), payload: z.json() })).default([]),
  output: z.json().optional(),
  error: z.unknown().optional(),
});

/** Examples that wait in real time, which the simulation does not control. */
const inRealTime: ReadonlySet<string> = new Set(['count-stock', 'export-pages']);

export async function fixedCodeExamples(): Promise<readonly FixedWorkflow[]> {
  const files = readdirSync(new URL('workflows/', folder)).filter((file) => file.endsWith('.ts'));
  const modules = await Promise.all(files.map((file): Promise<object> => import(new URL(`workflows/${file}`, folder).href)));
  const exported: readonly unknown[] = modules.flatMap((each): unknown[] => Object.values(each));
  const names = files.map((file) => file.replace(/\.ts$/, ''));
  const runs = z.array(exampleRun).parse(JSON.parse(readFileSync(new URL('runs.json', folder), 'utf8')));
  return runs
    .filter(({ workflow, signals }) => !inRealTime.has(workflow) && (workflow !== 'await-approval' || signals.length > 0))
    .map(({ workflow, input, signals }) => ({
      name: `${workflow} ${JSON.stringify(input)}`,
      workflow,
      input,
      modules: new Map([[deployed, exported]]),
      publish: (deps, { around }) => deploy(deps, around.time.now, names),
      outside: async ({ start, settle, send }) => {
        await start();
        await settle();
        for (const { name, correlation, payload } of signals) await send(name, payload, { correlation });
      },
    }));
}
