import { describe, expect, it } from 'vitest';
import { InvariantViolation } from '../../../lib/engine/invariant.ts';
import type { JsonValue } from '../../../lib/engine/json.ts';
import { after, days, instant } from '../../../lib/engine/time.ts';
import { Unavailable } from '../../../lib/ports/unavailable.ts';
import type { RunAttempt } from '../../../lib/service/commit/plans.ts';
import { loadPayload } from '../../../lib/service/run-log/payloads.ts';
import { creation, freshRun } from '../../contract/samples.ts';
import { finished, createTestEnv, scope, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

/** Numbers without a pattern, which do not compress. */
const noise = (count: number, chance: () => number): JsonValue => Array.from({ length: count }, chance);
const writesBig = { a: { policy: { outputVariable: 'big' } } };

describe('a value too large for a commit', () => {
  it('is stored once in the bucket under its digest, and loaded by the node that reads it', async () => {
    const env = createTestEnv();
    const big = noise(5_000, () => env.ports.ids.random());
    let puts = 0;
    let seen: JsonValue | undefined;
    const runAttempt: RunAttempt = async (node, input) => {
      if (node.id === 'b') seen = input.context.get('big');
      return {
        outcome: node.id === 'a' ? { kind: 'finished', output: { value: big }, handle: 'output' } : finished(node.id),
        printed: [],
      };
    };
    const deps = {
      ...env.deps,
      blobs: overrideMethods(env.deps.blobs, {
        put: async (...given) => {
          puts += 1;
          return env.deps.blobs.put(...given);
        },
      }),
    };
    await env.publish(workflow('flow', 'a>b b>d', writesBig));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: { ...env.worker, deps, runAttempt } });
    expect(seen).toEqual(big);
    expect(puts).toBe(1);
    const { state } = await env.fold(run);
    expect(state.progress.status).toBe('completed');
    const [written] = state.contextWrites.get('big') ?? [];
    expect(written?.payload).toMatchObject({ ref: expect.stringMatching(new RegExp(`^blob:${run.runId}/[0-9a-f]{64}$`)) });
  });

  it('is not loaded by a node that does not read it', async () => {
    const env = createTestEnv();
    const big = noise(5_000, () => env.ports.ids.random());
    let gets = 0;
    const runAttempt: RunAttempt = async (node) => ({
      outcome: node.id === 'a' ? { kind: 'finished', output: { value: big }, handle: 'output' } : finished(node.id),
      printed: [],
    });
    const deps = {
      ...env.deps,
      blobs: overrideMethods(env.deps.blobs, {
        get: async (...given) => {
          gets += 1;
          return env.deps.blobs.get(...given);
        },
      }),
    };
    await env.publish(workflow('flow', 'a>b b>d', writesBig));
    await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: { ...env.worker, deps, runAttempt } });
    expect(gets).toBe(0);
  });

  it.each([
    [50_000, 'value'],
    [200_000, 'ref'],
  ])('of %i bytes that compresses well is stored as its %s', async (bytes, kind) => {
    const env = createTestEnv();
    const runAttempt: RunAttempt = async (node) => ({
      outcome: node.id === 'a' ? { kind: 'finished', output: { value: 'x'.repeat(bytes) }, handle: 'output' } : finished(node.id),
      printed: [],
    });
    await env.publish(workflow('flow', 'a>b', writesBig));
    const run = await env.begin('flow');
    for (const job of env.ports.jobs.takeSent()) await env.take(job, { worker: { ...env.worker, runAttempt } });
    const [written] = (await env.fold(run)).state.contextWrites.get('big') ?? [];
    expect(Object.keys(written?.payload ?? {})).toContain(kind);
  });

  it('that is missing stops the reader of the run, and the error names it', async () => {
    const env = createTestEnv();
    const big = noise(40_000, () => env.ports.ids.random());
    await env.publish(workflow('flow', 'a>b'));
    const answer = await env.start({ input: { big } });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const deps = { ...env.deps, blobs: overrideMethods(env.deps.blobs, { get: async () => undefined }) };
    const runAttempt: RunAttempt = async (_node, input) => {
      input.context.get('input');
      return { outcome: finished('a'), printed: [] };
    };
    const [job] = env.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(env.take(job, { worker: { ...env.worker, deps, runAttempt } })).rejects.toThrow('is missing');
    expect((await env.fold({ ...scope, runId: answer.runId })).state.asOf).toBe(1);
  });
});

describe('a missing stored value', () => {
  it('is an internal error while its run is retained, and Unavailable after the run has expired', async () => {
    const { ports } = createTestEnv();
    const run = creation(freshRun(), { createdAt: ports.clock.now(), expiresAt: after(ports.clock.now(), days(38)) });
    await ports.log.create(run);
    const gone = () => loadPayload(ports, run.address, 'blob:gone');
    ports.clock.set(instant(run.expiresAt - 1));
    await expect(gone()).rejects.toThrow(InvariantViolation);
    ports.clock.set(run.expiresAt);
    await expect(gone()).rejects.toThrow(Unavailable);
  });
});
