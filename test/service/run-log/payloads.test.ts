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

/** Numbers without a pattern: nothing that compresses. */
const noise = (count: number, chance: () => number): JsonValue => Array.from({ length: count }, chance);
const writesBig = { a: { policy: { outputVariable: 'big' } } };

describe('a value too large for a commit', () => {
  it('is stored once in the bucket, named by its content, and read back by the node that looks at it', async () => {
    const home = createTestEnv();
    const big = noise(5_000, () => home.ports.ids.random());
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
      ...home.deps,
      blobs: overrideMethods(home.deps.blobs, {
        put: async (...given) => {
          puts += 1;
          return home.deps.blobs.put(...given);
        },
      }),
    };
    await home.publish(workflow('flow', 'a>b b>d', writesBig));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job, { worker: { ...home.worker, deps, runAttempt } });
    expect(seen).toEqual(big);
    expect(puts).toBe(1);
    const { state } = await home.fold(run);
    expect(state.progress.status).toBe('completed');
    const [written] = state.contextWrites.get('big') ?? [];
    expect(written?.payload).toMatchObject({ ref: expect.stringMatching(new RegExp(`^blob:${run.runId}/[0-9a-f]{64}$`)) });
  });

  it('is not loaded by a node that does not look at it', async () => {
    const home = createTestEnv();
    const big = noise(5_000, () => home.ports.ids.random());
    let gets = 0;
    const runAttempt: RunAttempt = async (node) => ({
      outcome: node.id === 'a' ? { kind: 'finished', output: { value: big }, handle: 'output' } : finished(node.id),
      printed: [],
    });
    const deps = {
      ...home.deps,
      blobs: overrideMethods(home.deps.blobs, {
        get: async (...given) => {
          gets += 1;
          return home.deps.blobs.get(...given);
        },
      }),
    };
    await home.publish(workflow('flow', 'a>b b>d', writesBig));
    await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job, { worker: { ...home.worker, deps, runAttempt } });
    expect(gets).toBe(0);
  });

  it.each([
    [50_000, 'value'],
    [200_000, 'ref'],
  ])('of %i bytes that compresses well is kept as its %s', async (bytes, kind) => {
    const home = createTestEnv();
    const runAttempt: RunAttempt = async (node) => ({
      outcome: node.id === 'a' ? { kind: 'finished', output: { value: 'x'.repeat(bytes) }, handle: 'output' } : finished(node.id),
      printed: [],
    });
    await home.publish(workflow('flow', 'a>b', writesBig));
    const run = await home.begin('flow');
    for (const job of home.ports.jobs.takeSent()) await home.take(job, { worker: { ...home.worker, runAttempt } });
    const [written] = (await home.fold(run)).state.contextWrites.get('big') ?? [];
    expect(Object.keys(written?.payload ?? {})).toContain(kind);
  });

  it('that has vanished stops the run’s reader with the name of what is gone', async () => {
    const home = createTestEnv();
    const big = noise(40_000, () => home.ports.ids.random());
    await home.publish(workflow('flow', 'a>b'));
    const answer = await home.start({ input: { big } });
    if (answer.kind !== 'started') throw new Error(answer.kind);
    const deps = { ...home.deps, blobs: overrideMethods(home.deps.blobs, { get: async () => undefined }) };
    const runAttempt: RunAttempt = async (_node, input) => {
      input.context.get('input');
      return { outcome: finished('a'), printed: [] };
    };
    const [job] = home.ports.jobs.takeSent();
    if (job === undefined) throw new Error('no job was sent');
    await expect(home.take(job, { worker: { ...home.worker, deps, runAttempt } })).rejects.toThrow('is missing');
    expect((await home.fold({ ...scope, runId: answer.runId })).state.asOf).toBe(1);
  });
});

describe('a stored value that is gone', () => {
  it('is a fault of ours while its run is kept, and unavailable once the run has expired: its items may outlive its values', async () => {
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
