/** The test environment with a deployment whose code is scripted by the test. */
import { type DeploymentId, type RunAddress, deploymentId, firstCommit } from '../../lib/engine/ids.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import type { Commit } from '../../lib/engine/log/commit.ts';
import { type Manifest, defaultApp, pointerAfter } from '../../lib/ports/deployments.ts';
import { type Programs, programPath } from '../../lib/ports/programs.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { type TestEnv, createTestEnv, scope } from './test-env.ts';
import { type StepFunction, type ScriptStage, ScriptedPrograms } from './scripted-programs.ts';

export const codeManifest = (id: string, workflows: Manifest['workflows'] = [{ name: 'order', version: '1' }]): Manifest => ({
  deploymentId: deploymentId(id),
  specVersion: 1,
  app: defaultApp,
  runtime: 'code',
  workflows,
  steps: [],
  files: [{ path: programPath, sha256: 'cd'.repeat(32), bytes: 10 }],
  artifact: { sha256: 'ab'.repeat(32), bytes: 10 },
});

/** Creates a verified deployment and activates it. */
export async function deploy({ ports }: Pick<TestEnv, 'ports'>, manifest: Manifest): Promise<DeploymentId> {
  const now = ports.clock.now();
  const own = manifest.deploymentId;
  await ports.deployments.create(scope, { manifest, createdAt: now, createdBy: null, verifiedAt: now });
  const before = await ports.deployments.pointer(scope);
  const moved = pointerAfter(before, manifest, { deploymentId: own, at: now, by: null });
  await ports.deployments.movePointer(scope, moved.revision - 1, moved);
  return own;
}

export interface CodeTestEnv {
  readonly env: TestEnv;
  readonly code: ScriptedPrograms;
  readonly run: RunAddress;
}

/** Starts a code run with these stages; its first workflow task is not executed yet. */
export async function startCodeRun(
  stages: readonly ScriptStage[],
  {
    stepFunction,
    wrap,
    programs,
  }: { readonly stepFunction?: StepFunction; readonly wrap?: (deps: Deps) => Deps; readonly programs?: Programs } = {},
): Promise<CodeTestEnv> {
  const code: ScriptedPrograms = new ScriptedPrograms(() => env.ports.clock, stages, stepFunction);
  const env: TestEnv = createTestEnv({ programs: programs ?? code, ...(wrap === undefined ? {} : { wrap }) });
  await deploy(env, codeManifest('v1'));
  return { env, code, run: await env.begin('order') };
}

export async function commitsOf({ ports }: Pick<TestEnv, 'ports'>, run: RunAddress): Promise<readonly Commit[]> {
  const head = await ports.log.head(run);
  return [...(head === undefined ? [] : [head.commit]), ...(await ports.log.commitsAfter(run, firstCommit))];
}

/** Each commit as the types and nodes of its events. Events of no interest are omitted. */
export async function summarizeEvents(env: Pick<TestEnv, 'ports'>, run: RunAddress): Promise<readonly string[]> {
  const commits = await commitsOf(env, run);
  return commits.map(({ events }) => events.flatMap(summaryOf).join(' '));
}

const words: Partial<Record<RunEvent['type'], string>> = {
  NODE_DISPATCHED: 'ask',
  SLEEP_STARTED: 'sleep',
  SIGNAL_AWAITED: 'await',
  SUBFLOW_CALLED: 'call',
  NODE_COMPLETED: 'done',
  NODE_FAILED: 'failed',
  NODE_RETRIED: 'again',
  RUN_COMPLETED: 'COMPLETED',
  RUN_FAILED: 'FAILED',
  RUN_TIMED_OUT: 'TIMED OUT',
  RUN_CANCELLED: 'CANCELLED',
  ROLLBACK_STARTED: 'UNDO',
};

const summaryOf = (event: RunEvent): readonly string[] => {
  const word = words[event.type];
  if (word === undefined) return [];
  return ['nodeId' in event ? `${word}(${event.nodeId})` : word];
};

export const statusOf = async (env: TestEnv, run: RunAddress) => (await env.fold(run)).state.progress.status;

/** Processes the messages for code that are in the queue now. */
export async function handleAllMessages(env: TestEnv): Promise<void> {
  for (const job of env.ports.jobs.takeMessages()) await env.take(job);
}

/** Waits until only the clock can cause progress. */
export async function waitUntilIdle(): Promise<void> {
  for (let round = 0; round < 20; round += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A step function that runs until the test ends it. */
export const whenAborted = (signal: AbortSignal): Promise<string> =>
  new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))));
