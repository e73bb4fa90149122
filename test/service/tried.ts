/** Test runs in the small house: what its scripted types say of themselves, and every place where one could leave a trace. */
import { randomBytes } from 'node:crypto';
import type { WorkflowDefinition } from '../../lib/engine/graph/definition.ts';
import type { InspectNode } from '../../lib/engine/graph/inspection.ts';
import type { Pins } from '../../lib/engine/graph/pins.ts';
import { type RunAddress, firstCommit } from '../../lib/engine/ids.ts';
import type { JsonValue, PayloadRef } from '../../lib/engine/json.ts';
import { isForgotten } from '../../lib/engine/log/forgotten.ts';
import { instant } from '../../lib/engine/time.ts';
import type { Decider } from '../../lib/service/decide-run.ts';
import { type TestAnswer, testEndpoint, testWorkflow } from '../../lib/service/test-workflow.ts';
import { type House, scope, workflow } from './house.ts';

/** A node begins the run where its id begins with `a`. */
const inspect: InspectNode = ({ id, type }) => ({
  findings: [],
  facts: {
    policy: { joinMode: 'all', onParentFailure: 'skip' },
    handles: type === 'end' ? [] : type === 'choice' ? ['left', 'right'] : ['output', 'error'],
    isTrigger: id.startsWith('a'),
  },
});

export const drawn = (...given: Parameters<typeof workflow>): WorkflowDefinition => {
  const { version: _version, ...definition } = workflow(...given);
  return definition;
};

const key = 'key-1';

export const test = (
  home: House,
  definition: WorkflowDefinition,
  given: { pinned?: Pins; input?: JsonValue; idempotencyKey?: string; bodyHash?: string; decider?: Decider } = {},
): Promise<TestAnswer> => {
  const { decider = home.worker, pinned = {}, ...rest } = given;
  return testWorkflow(decider, { scope, bodyHash: 'h', idempotencyKey: key, definition, pinned, ...rest }, inspect);
};

export const tested = async (...given: Parameters<typeof test>): Promise<RunAddress> => {
  const answer = await test(...given);
  if (answer.kind !== 'started') throw new Error(JSON.stringify(answer));
  return { ...scope, runId: answer.runId };
};

/** Too large for an item, however it is packed. */
export const large: string = randomBytes(60_000).toString('base64');

/** Where its values lie in the bucket, as its log says. */
export async function blobsOf({ world }: House, run: RunAddress): Promise<readonly PayloadRef[]> {
  const head = await world.log.head(run);
  const commits = [...(head === undefined ? [] : [head.commit]), ...(await world.log.commitsAfter(run, firstCommit))];
  const refs = [...JSON.stringify(commits).matchAll(/"ref":"(blob:[^"]+)"/g)].map(([, ref]) => ref);
  return refs.flatMap((ref): PayloadRef[] => (ref?.startsWith('blob:') ? [`blob:${ref.slice('blob:'.length)}`] : []));
}

/** Every trace of the run that any port shows. @param blobs where values of it lay */
export async function tracesOf(
  { world }: House,
  run: RunAddress,
  { blobs = [], place }: { blobs?: readonly PayloadRef[]; place?: { name: string; correlation: string } } = {},
): Promise<readonly string[]> {
  const found: string[] = [];
  const note = (isThere: boolean, what: string): void => void (isThere && found.push(what));
  note((await world.log.head(run)) !== undefined, 'head');
  for (const name of ['graph', 'input']) note((await world.log.attached(run, name)) !== undefined, name);
  note((await world.log.beats(run)).length > 0, 'beats');
  note((await world.log.snapshot(run)) !== undefined, 'snapshot');
  const left = await world.log.commitsAfter(run, firstCommit);
  note(!left.every((commit) => isForgotten(commit) && commit.events.length === 1), 'commits');
  note((await world.index.list(scope, { limit: 100 })).heads.length > 0, 'list');
  for (const state of ['waiting', 'retrying', 'failed', 'cancelled'] as const) {
    note((await world.index.listByState(scope, state, { limit: 100 })).heads.length > 0, state);
  }
  const now = Math.floor(world.clock.now() / 60_000);
  for (let minute = now - 120; minute < now + 3_000; minute += 1) {
    note(
      (await world.index.dueIn(minute)).some(({ runId }) => runId === run.runId),
      `due in ${minute - now}`,
    );
  }
  for (const ref of blobs) note((await world.blobs.get(run, ref.slice('blob:'.length))) !== undefined, 'blob');
  if (place !== undefined) note((await world.signals.at({ ...scope, ...place })).waiters.length > 0, 'waiter');
  const own = { runId: run.runId, bodyHash: 'probe', reservedAt: world.clock.now(), owner: 'probe' };
  const terms = { notBefore: instant(0), expiresAt: world.clock.now() };
  const reserved = await world.reservations.reserve(scope, testEndpoint, key, own, terms);
  if (reserved.kind === 'taken') found.push('reservation');
  else await world.reservations.release(scope, testEndpoint, key, 'probe');
  return found;
}
