import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { firstAttempt, firstCommit, nodeId, runId, topLevel } from '../../lib/engine/ids.ts';
import type { JsonValue } from '../../lib/engine/json.ts';
import type { RunEvent } from '../../lib/engine/log/events.ts';
import { instant } from '../../lib/engine/time.ts';
import { MemoryBlobs } from '../../lib/memory/run-records.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { maxPageBytes, listEvents } from '../../lib/service/runs/list-events.ts';
import { maxCommitBytes, maxInlineBytes, offloadEvents } from '../../lib/service/run-log/payloads.ts';
import { createTestEnv, scope, workflow } from './test-env.ts';
import { expiresAt } from '../contract/samples.ts';

const run = { ...scope, runId: runId('wrun_01KDVDNA0001ZPGCE7HQSG6B6B') };
let seed = 1;
/** Letters without a pattern, which gzip reduces by a quarter at most. */
const noise = (length: number): string => {
  let text = '';
  while (text.length < length) {
    seed = (seed * 48_271) % 2_147_483_647;
    text += seed.toString(36);
  }
  return text.slice(0, length);
};
const completed = (id: string, value: JsonValue): RunEvent => ({
  type: 'NODE_COMPLETED',
  nodeId: nodeId(id),
  iteration: topLevel,
  attempt: firstAttempt,
  startedAt: instant(0),
  endedAt: instant(0),
  output: { value },
  handle: 'output',
});
const refs = (events: readonly RunEvent[]): number =>
  events.filter((event) => event.type === 'NODE_COMPLETED' && 'ref' in event.output).length;

describe('the events of one commit', () => {
  const storedOf = (events: readonly RunEvent[]) =>
    offloadEvents({ blobs: new MemoryBlobs() }, { address: run, expiresAt, kind: 'graph' }, events);

  it('keep their values inline if all fit one item', async () => {
    expect(refs(await storedOf([completed('a', noise(5_000)), completed('b', noise(5_000))]))).toBe(0);
  });

  it('offload small values that are too large together', async () => {
    const many = Array.from({ length: 100 }, (_, at) => completed(`n${at}`, noise(5_000)));
    expect(gzipSync(JSON.stringify(many)).length).toBeGreaterThan(maxCommitBytes);
    const stored = await storedOf(many);
    expect(refs(stored)).toBe(100);
    expect(gzipSync(JSON.stringify(stored)).length).toBeLessThan(maxCommitBytes);
  });

  it('offload a value that is small only when compressed', async () => {
    expect(refs(await storedOf([completed('a', 'x'.repeat(60_000))]))).toBe(0);
    expect(refs(await storedOf([completed('a', 'x'.repeat(70_000))]))).toBe(1);
  });

  it('of a start follow the same limits: an input of a megabyte is not part of the head', async () => {
    const env = createTestEnv();
    await env.publish(workflow('flow', 'a>e'));
    const answer = await env.start({ input: noise(1_000_000) });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const head = await env.deps.log.head({ ...scope, runId: answer.runId });
    expect(JSON.stringify(head).length).toBeLessThan(maxInlineBytes);
  });
});

it('a collected result is sent without its large output', async () => {
  const env = createTestEnv();
  const big = noise(1_000_000);
  const runAttempt: RunAttempt = async () => ({
    outcome: { kind: 'finished', output: { value: big }, handle: 'output' },
    printed: [],
  });
  await env.publish(workflow('flow', Array.from({ length: 10 }, (_, at) => `a${at}>e`).join(' ')));
  const address = await env.begin('flow');
  for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: { ...env.worker, runAttempt } });
  expect(env.ports.jobs.results).toHaveLength(10);
  for (const result of env.ports.jobs.results) expect(JSON.stringify(result).length).toBeLessThan(2_000);
  await env.settle();
  expect((await env.fold(address)).state.progress.status).toBe('completed');
});

it('a page of events ends before it is too large for a response, and the next one continues', async () => {
  const env = createTestEnv();
  const runAttempt: RunAttempt = async () => ({
    outcome: { kind: 'finished', output: { value: 'x'.repeat(60_000) }, handle: 'output' },
    printed: [],
  });
  await env.publish(workflow('flow', Array.from({ length: 100 }, (_, at) => `a${at}>a${at + 1}`).join(' ')));
  const address = await env.begin('flow');
  for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: { ...env.worker, runAttempt } });
  const seen: number[] = [];
  for (let after = 0, isOver = false; !isOver;) {
    const page = await listEvents(env.deps, address, { after, limit: 1_000 });
    if (page.kind !== 'found') throw new Error(page.kind);
    expect(JSON.stringify(page.events).length).toBeLessThan(maxPageBytes + 100_000);
    seen.push(...page.events.map(({ eventId }) => eventId));
    [after, isOver] = [page.last, !page.hasMore];
  }
  expect(seen).toEqual(seen.map((_, at) => at + 1));
  expect(seen.length).toBeGreaterThan(300);
});

it('long failures of many siblings fit one message each, and one commit together', async () => {
  const env = createTestEnv();
  const details = { errors: [{ field: noise(300_000) }, { field: 'b' }], body: noise(300_000), phase: 'output' };
  const runAttempt: RunAttempt = async () => ({
    outcome: {
      kind: 'failed',
      failure: { cause: 'contract_violated', code: noise(1_000), message: noise(300_000), details },
      gate: { kind: 'contract', phase: 'output', errors: details.errors },
    },
    printed: [],
  });
  await env.publish(workflow('flow', Array.from({ length: 10 }, (_, at) => `a${at}>e`).join(' ')));
  const address = await env.begin('flow');
  for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: { ...env.worker, runAttempt } });
  for (const result of env.ports.jobs.results) expect(JSON.stringify(result).length).toBeLessThan(16_000);
  await env.settle();
  const commits = await env.ports.log.commitsAfter(address, firstCommit);
  expect(commits.flatMap(({ events }) => events).filter(({ type }) => type === 'NODE_FAILED')).toHaveLength(10);
  for (const { events } of commits) expect(gzipSync(JSON.stringify(events)).length).toBeLessThan(maxCommitBytes);
});
