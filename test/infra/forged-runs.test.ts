/**
 * A hostile bundle: it has the credentials of the function that runs code, and writes what it likes with them. Each of its requests is
 * judged as the embedded cloud judges those of the function, and those that pass are written.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { StoredHeads, MessageHeads } from '../../lib/aws/run-heads.ts';
import { DynamoRunIndex } from '../../lib/aws/run-index.ts';
import { DynamoRunLog } from '../../lib/aws/run-log.ts';
import { DynamoSignals } from '../../lib/aws/signals.ts';
import { Table } from '../../lib/aws/table.ts';
import { unsavedGraphBody } from '../../lib/codec/definition.ts';
import { commitNo, eventId, firstAttempt, firstCommit, nodeId, nodeKey, signalId, topLevel } from '../../lib/engine/ids.ts';
import { isTerminal } from '../../lib/engine/log/fold.ts';
import { after, days, seconds } from '../../lib/engine/time.ts';
import { blobPrefixOf } from '../../lib/service/run-log/payloads.ts';
import { readRunFold } from '../../lib/service/run-log/read-run-fold.ts';
import { createControlTable, createRunsTable, dynamoAt, dynamoImplementations } from '../contract/emulators/dynamo.ts';
import type { Emulator } from '../contract/emulators/emulator-process.ts';
import { codeCreation, commit, creation, expiresAt, freshRun, noon } from '../contract/samples.ts';
import { createTestEnv, scope, workflow } from '../service/test-env.ts';
import { asks, cloudOf, needsOf, tableOf } from './privilege.ts';

class AccessDenied extends Error {
  override readonly name = 'AccessDenied';
}

const { version: _version, ...definition } = workflow('forged', 'act>more');
const forgedGraph = unsavedGraphBody({ definition, pinned: {}, startIdempotencyKey: 'k' });
const dispatched = {
  type: 'NODE_DISPATCHED',
  nodeId: nodeId('act'),
  iteration: topLevel,
  attempt: firstAttempt,
  via: 'queue',
  wave: 0,
} as const;

let emulator: Emulator;
let client: DynamoDBClient;
let runs: Table;
let control: Table;
/** the same tables, by the credentials of the function that runs code */
let stolen: { readonly runs: Table; readonly control: Table };
const cloud = cloudOf();
const may = asks(cloud, 'code');

beforeAll(async () => {
  const [first] = dynamoImplementations;
  if (first === undefined) throw new Error('there is no emulator of DynamoDB');
  emulator = await first.start();
  client = dynamoAt(emulator.endpoint);
});
afterAll(async () => {
  client.destroy();
  await emulator.close();
});
beforeEach(async () => {
  [runs, control] = await Promise.all([createRunsTable(client), createControlTable(client)]);
  const judged = dynamoAt(emulator.endpoint);
  judged.middlewareStack.add(
    (next, { commandName = '' }) =>
      (args) => {
        const named = JSON.stringify(args.input)
          .replaceAll(JSON.stringify(runs.name), JSON.stringify(tableOf(cloud, 'runs')))
          .replaceAll(JSON.stringify(control.name), JSON.stringify(tableOf(cloud, 'control')));
        const needs = needsOf(commandName.replace(/Command$/, ''), JSON.parse(named) as object);
        if (!needs.every(may)) throw new AccessDenied(commandName);
        return next(args);
      },
    { step: 'initialize' },
  );
  stolen = { runs: new Table(judged, runs.name), control: new Table(judged, control.name) };
});

const causeOf = (thrown: unknown): unknown => (thrown instanceof Error && thrown.cause !== undefined ? thrown.cause : thrown);
const denied = (act: Promise<unknown>) => expect(act.catch(causeOf)).resolves.toBeInstanceOf(AccessDenied);
const first = commit(1, { firstEventId: eventId(1) });

describe('a run of another project that the worker would work on', () => {
  test('would be worked on, were it written: the head says what the run is, and an item beside it what it does', async () => {
    const home = createTestEnv();
    const run = { ...scope, runId: freshRun().runId };
    const head = creation(run, { workflow: { name: 'forged', version: 0 }, isTest: true });
    await home.ports.log.attach(run, 'graph', forgedGraph, head);
    await home.ports.log.create({
      ...head,
      deadlineAt: after(home.ports.clock.now(), days(1)),
      commit: { ...first, events: [dispatched] },
    });
    const { nodeId: id, iteration, attempt } = dispatched;
    await home.take({ kind: 'node', run, commit: firstCommit, nodeId: id, iteration, attempt, resend: 0 });
    expect(home.attempts).toContain('act#1');
  });

  test('cannot be written: no head, no graph, no commit, no snapshot, no beat', async () => {
    const victim = freshRun();
    const log = new DynamoRunLog(stolen.runs);
    await denied(log.attach(victim, 'graph', forgedGraph, creation(victim)));
    await denied(log.create(creation(victim)));
    await new DynamoRunLog(runs).create(creation(victim));
    // An attacker needs no adapter of ours: they can write the request by hand.
    const known = new DynamoRunLog(stolen.runs, new StoredHeads(runs));
    await denied(known.put(victim, commit(2, { firstEventId: eventId(2) }), expiresAt));
    await denied(known.saveSnapshot(victim, { asOf: commitNo(2), schema: 1, state: null }, expiresAt));
    await denied(known.heartbeat(victim, { node: nodeKey(dispatched), at: noon, resends: 0 }, expiresAt));
    await denied(known.project(victim, { status: 'completed', asOf: commitNo(2) }));
    await denied(new StoredHeads(stolen.runs).head(victim));
    await denied(known.commitsAfter(victim, firstCommit));
    await denied(known.snapshot(victim));
  });

  test('is not what it is where only code could have written it', async () => {
    const victim = freshRun();
    const platform = new DynamoRunLog(runs);
    await platform.create(creation(victim, { commit: first }));
    const told = new MessageHeads();
    told.recognize(codeCreation(victim));
    const log = new DynamoRunLog(stolen.runs, told);
    const ends = [{ type: 'RUN_CANCELLED' } as const];
    await log.put(victim, commit(2, { firstEventId: eventId(2), events: ends }), expiresAt);
    await log.saveSnapshot(victim, { asOf: commitNo(2), schema: 1, state: null }, expiresAt);
    await log.project(victim, { status: 'cancelled', asOf: commitNo(2) });
    for (const reader of [platform, new DynamoRunLog(runs)]) {
      const fold = await readRunFold({ log: reader }, victim);
      expect(fold?.state.asOf).toBe(1);
      expect(fold !== undefined && isTerminal(fold.state.progress)).toBe(false);
      expect(fold?.head.projection.status).toBe('pending');
    }
  });

  test('does not exist without a head, even if code wrote other items of it', async () => {
    const absentRun = freshRun();
    const told = new MessageHeads();
    told.recognize(codeCreation(absentRun));
    const log = new DynamoRunLog(stolen.runs, told);
    await log.put(absentRun, commit(2), expiresAt);
    await log.project(absentRun, { status: 'failed', asOf: commitNo(2) });
    await log.attach(absentRun, 'graph', forgedGraph, codeCreation(absentRun));
    const platform = new DynamoRunLog(runs);
    expect(await readRunFold({ log: platform }, absentRun)).toBeUndefined();
    const index = new DynamoRunIndex({ runs, control }, platform);
    expect((await index.listByState(absentRun, 'failed', { limit: 5 })).heads).toEqual([]);
  });
});

test('a list shows no run that code put under another project', async () => {
  const [mine, theirs] = [freshRun(), freshRun()];
  const platform = new DynamoRunLog(runs);
  await platform.create(codeCreation(mine, { commit: commit(1) }));
  const named = (partition: string) => ({ S: partition.replace(`${mine.projectId}#`, `${theirs.projectId}#`) });
  const key = { pk: `code#${mine.projectId}#${mine.environment}#${mine.runId}`, sk: 'head' };
  for (const shard of [0, 1, 2, 3, 4, 5, 6, 7]) {
    const sp = named(`${mine.projectId}#${mine.environment}#failed#${shard}`);
    await stolen.runs.put(
      { ...key, sk: `head#${shard}` },
      { sp, ss: { S: '2026#1' }, gp: named(`${mine.projectId}#${mine.environment}#${shard}`), gs: { S: '2026#1' } },
    );
  }
  const index = new DynamoRunIndex({ runs, control }, platform);
  expect((await index.listByState(theirs, 'failed', { limit: 5 })).heads).toEqual([]);
  expect((await index.list(theirs, { limit: 5 })).heads).toEqual([]);
});

test('a signal, and what lies where signals meet, is none of code’s', async () => {
  const signals = new DynamoSignals(stolen.control);
  const { projectId, environment } = freshRun();
  const place = { projectId, environment, name: 'approved', correlation: '17' };
  const kept = { signalId: signalId('s'), payload: 'yes', receivedAt: noon, bufferedUntil: expiresAt, retainUntil: expiresAt };
  await denied(signals.store(place, kept));
  await denied(signals.read(place));
});

test('when the sweep is to look at a run is noted apart, and no entry of others is written over', async () => {
  const run = freshRun();
  const minute = Math.floor(noon / seconds(60));
  await denied(new DynamoRunIndex(stolen, new DynamoRunLog(runs)).markDue({ run, minute }));
  await denied(new DynamoRunIndex(stolen, new DynamoRunLog(runs)).markDueTogether({ scope: run, runIds: [run.runId], minute }));
  await new DynamoRunIndex(stolen, new DynamoRunLog(runs), 'code').markDue({ run, minute });
  const found = await new DynamoRunIndex({ runs, control }, new DynamoRunLog(runs)).dueIn(minute);
  expect(found).toEqual([run]);
});

test('what is large lies where its run’s kind says', () => {
  const run = freshRun();
  expect(blobPrefixOf(creation(run))).toBe(`${run.runId}/`);
  expect(blobPrefixOf(codeCreation(run))).toBe(`~code/${run.runId}/`);
});
