/** Test runs in the test environment: the scripted node types, and every record that a run could leave. */
import { randomBytes } from 'node:crypto';
import type { WorkflowDefinition } from '../../lib/engine/graph/definition.ts';
import type { InspectNode } from '../../lib/engine/graph/inspection.ts';
import type { PinnedOutputs } from '../../lib/engine/graph/pinned-outputs.ts';
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import type { JsonValue, PayloadRef } from '../../lib/engine/json.ts';
import { isTombstone } from '../../lib/engine/log/commit.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Decider } from '../../lib/service/decider.ts';
import { type TestResult, testEndpoint, testWorkflow } from '../../lib/service/runs/test-workflow.ts';
import { type TestEnv, scope, workflow } from './test-env.ts';

/** A node begins the run where its id begins with `a`. */
const inspect: InspectNode = ({ id, type }) => ({
  findings: [],
  facts: {
    policy: { joinMode: 'all', onParentFailure: 'skip' },
    handles: type === 'end' ? [] : type === 'choice' ? ['left', 'right'] : ['output', 'error'],
    isTrigger: id.startsWith('a'),
  },
});

export const definitionOf = (...given: Parameters<typeof workflow>): WorkflowDefinition => {
  const { version: _version, ...definition } = workflow(...given);
  return definition;
};

const key = 'key-1';

export const requestTestRun = (
  home: TestEnv,
  definition: WorkflowDefinition,
  given: { pinned?: PinnedOutputs; input?: JsonValue; idempotencyKey?: string; bodyHash?: string; decider?: Decider } = {},
): Promise<TestResult> => {
  const { decider = home.worker, pinned = {}, ...rest } = given;
  return testWorkflow(decider, { scope, bodyHash: 'h', idempotencyKey: key, definition, pinned, ...rest }, inspect);
};

export const startTestRun = async (...given: Parameters<typeof requestTestRun>): Promise<RunAddress> => {
  const answer = await requestTestRun(...given);
  if (answer.kind !== 'started') throw new Error(JSON.stringify(answer));
  return { ...scope, runId: answer.runId };
};

/** Too large for an item, however it is packed. */
export const largeText: string = randomBytes(60_000).toString('base64');

/** Where its values lie in the bucket, as its log says. */
export async function blobsOf({ ports }: TestEnv, run: RunAddress): Promise<readonly PayloadRef[]> {
  const head = await ports.log.head(run);
  const commits = [...(head === undefined ? [] : [head.commit]), ...(await ports.log.commitsAfter(run, firstCommit))];
  const refs = [...JSON.stringify(commits).matchAll(/"ref":"(blob:[^"]+)"/g)].map(([, ref]) => ref);
  return refs.flatMap((ref): PayloadRef[] => (ref?.startsWith('blob:') ? [`blob:${ref.slice('blob:'.length)}`] : []));
}

/** Every trace of the run that any port shows. @param blobs where values of it lay */
export async function recordsOf(
  { ports }: TestEnv,
  run: RunAddress,
  { blobs = [], signalKey }: { blobs?: readonly PayloadRef[]; signalKey?: { name: string; correlation: string } } = {},
): Promise<readonly string[]> {
  const found: string[] = [];
  const note = (isThere: boolean, what: string): void => void (isThere && found.push(what));
  note((await ports.log.head(run)) !== undefined, 'head');
  for (const name of ['graph', 'input']) note((await ports.log.attached(run, name)) !== undefined, name);
  note((await ports.log.heartbeats(run)).length > 0, 'beats');
  note((await ports.log.snapshot(run)) !== undefined, 'snapshot');
  const left = await ports.log.commitsAfter(run, firstCommit);
  note(!left.every((commit) => isTombstone(commit) && commit.events.length === 1), 'commits');
  note((await ports.index.list(scope, { limit: 100 })).heads.length > 0, 'list');
  for (const state of ['waiting', 'retrying', 'failed', 'cancelled'] as const) {
    note((await ports.index.listByState(scope, state, { limit: 100 })).heads.length > 0, state);
  }
  const now = Math.floor(ports.clock.now() / 60_000);
  for (let minute = now - 120; minute < now + 3_000; minute += 1) {
    note(
      (await ports.index.dueIn(minute)).some(({ runId }) => runId === run.runId),
      `due in ${minute - now}`,
    );
  }
  for (const ref of blobs) note((await ports.blobs.get(run, ref.slice('blob:'.length))) !== undefined, 'blob');
  if (signalKey !== undefined) note((await ports.signals.read({ ...scope, ...signalKey })).waiters.length > 0, 'waiter');
  const own = { runId: run.runId, bodyHash: 'probe', reservedAt: ports.clock.now(), owner: 'probe' };
  const terms = { notBefore: instant(0), expiresAt: ports.clock.now() };
  const reserved = await ports.reservations.reserve(scope, testEndpoint, key, own, terms);
  if (reserved.kind === 'taken') found.push('reservation');
  else await ports.reservations.release(scope, testEndpoint, key, 'probe');
  return found;
}
