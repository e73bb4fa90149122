import { createHash } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import type { WorkflowVersion } from '../../../../lib/engine/graph/definition.ts';
import { type RunAddress, commitNo, firstAttempt, firstCommit, nodeId } from '../../../../lib/engine/ids.ts';
import type { JsonObject } from '../../../../lib/engine/json.ts';
import { maxPackAge } from '../../../../lib/engine/log/commit.ts';
import { after, durationMs, minutes } from '../../../../lib/engine/time.ts';
import { Unavailable } from '../../../../lib/ports/unavailable.ts';
import type { Deps } from '../../../../lib/service/deps.ts';
import { cancelRun } from '../../../../lib/service/runs/cancel-run.ts';
import { getRun } from '../../../../lib/service/runs/get-run.ts';
import { rerunRun } from '../../../../lib/service/runs/rerun-run.ts';
import { overrideMethods } from '../../override-methods.ts';
import { definitionOf, startTestRun } from '../../test-run-fixture.ts';
import { type TestEnv, createTestEnv, failing, finished, jobFor, workflow } from '../../test-env.ts';

/** The workflow `flow`, whose nodes of the given names are idempotent. */
const flow = (drawn: string, idempotent: readonly string[], configs: Record<string, JsonObject> = {}): WorkflowVersion =>
  workflow('flow', drawn, {
    ...configs,
    ...Object.fromEntries(idempotent.map((id) => [id, { ...configs[id], idempotent: true }])),
  });

const chain = flow('a>b b>m m>x', ['a', 'b', 'm', 'x']);
const namesOf = (count: number): readonly string[] => Array.from({ length: count }, (_, at) => `n${at}`);
const chainOf = (count: number): string =>
  namesOf(count)
    .slice(1)
    .map((name, at) => `n${at}>${name}`)
    .join(' ');

async function begun(version: WorkflowVersion, options: Parameters<typeof createTestEnv>[0] = {}) {
  const env = createTestEnv(options);
  await env.publish(version);
  return { env, run: await env.begin('flow') };
}

/** The types of the events of each commit after the first, without what belongs to each node. */
async function commitsOf(env: TestEnv, run: RunAddress): Promise<readonly string[]> {
  const commits = await env.ports.log.commitsAfter(run, firstCommit);
  return commits.map(({ events }) =>
    events
      .map((event) =>
        'nodeId' in event ? `${event.type === 'NODE_COMPLETED' ? '' : `${event.type} `}${event.nodeId}` : event.type,
      )
      .filter((text) => !text.startsWith('NODE_STARTED'))
      .map((text) => text.replace('NODE_DISPATCHED ', '>'))
      .join(' '),
  );
}

const first = (run: RunAddress) => jobFor(run, 'a', firstCommit, firstAttempt);

describe('idempotent nodes in a row', () => {
  it('share one commit', async () => {
    const { env, run } = await begun(chain);
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'x#1']);
    expect(await commitsOf(env, run)).toEqual(['RUN_STATUS_CHANGED a >b b >m m >x x RUN_STATUS_CHANGED RUN_COMPLETED']);
  });

  it('have each its own times, although their events have the time of the commit', async () => {
    const { env, run } = await begun(chain, {
      answer: (node) => {
        env.ports.clock.advance(durationMs(10));
        return finished(node);
      },
    });
    const startedAt = env.ports.clock.now();
    await env.settle();
    const fold = await env.fold(run);
    const times = ['a', 'b', 'm', 'x'].map((id) => {
      const node = fold.state.nodes.get(id as never);
      return node !== undefined && 'startedAt' in node
        ? [Number(node.startedAt) - startedAt, Number((node as { endedAt: number }).endedAt) - startedAt]
        : [];
    });
    expect(times).toEqual([
      [0, 10],
      [10, 20],
      [20, 30],
      [30, 40],
    ]);
  });

  it('see the results of those before them', async () => {
    const inputs: unknown[] = [];
    const env = createTestEnv();
    await env.publish(
      flow('a>b b>m', ['a', 'b', 'm'], { a: { policy: { outputVariable: 'x' } }, b: { policy: { outputVariable: 'y' } } }),
    );
    const run = await env.begin('flow');
    const worker = {
      ...env.worker,
      runAttempt: async (node: { readonly id: string }, input: { readonly context: { get(key: string): unknown } }) => {
        inputs.push([node.id, input.context.get('x'), input.context.get('y')]);
        return { outcome: finished(node.id), printed: [] };
      },
    };
    await env.take(first(run), { worker });
    expect(inputs).toEqual([
      ['a', undefined, undefined],
      ['b', 'a', undefined],
      ['m', 'a', 'b'],
    ]);
    expect(await commitsOf(env, run)).toHaveLength(1);
  });

  it('are committed before a node with side effects begins, which has a commit of its own', async () => {
    const { env, run } = await begun(flow('a>b b>m m>x x>y', ['a', 'b', 'x', 'y']), {
      answer: async (node) => {
        if (node === 'm') expect((await env.fold(run)).state.nodes.get('m' as never)).toMatchObject({ status: 'running' });
        return finished(node);
      },
    });
    await env.settle();
    expect(await commitsOf(env, run)).toEqual([
      'RUN_STATUS_CHANGED a >b b >m',
      'm >x',
      'x >y y RUN_STATUS_CHANGED RUN_COMPLETED',
    ]);
  });

  it.each([
    ['siblings', 'a>b b>m b>x', 'RUN_STATUS_CHANGED a >b b >m >x'],
    ['a sleep', 'a>b b>z z>m', 'RUN_STATUS_CHANGED a >b b SLEEP_STARTED z'],
    ['a wait for a signal', 'a>b b>s s>m', 'RUN_STATUS_CHANGED a >b b SIGNAL_AWAITED s'],
    ['a called workflow', 'a>b b>k k>m', 'RUN_STATUS_CHANGED a >b b SUBFLOW_CALLED k'],
  ])('are committed before %s', async (_what, drawn, expected) => {
    const { env, run } = await begun(
      flow(drawn, ['a', 'b', 'm', 'x'], { z: { ms: 60_000 }, s: { name: 'paid' }, k: { calls: 'child' } }),
    );
    await env.take(first(run));
    const commits = await commitsOf(env, run);
    expect(commits[0]).toBe(expected);
  });

  it('share no commit while a sibling is open', async () => {
    const { env, run } = await begun(flow('a>b a>d b>m d>x', ['a', 'b', 'd', 'm', 'x']));
    await env.settle();
    expect(await commitsOf(env, run)).toEqual([
      'RUN_STATUS_CHANGED a >b >d',
      'b >m',
      'm',
      'd >x x RUN_STATUS_CHANGED RUN_COMPLETED',
    ]);
  });

  it('share a commit in the iterations of a sequential loop', async () => {
    const { env, run } = await begun(flow('a>l l/loop>b b>m l/done>x', ['a', 'b', 'm', 'x'], { l: { items: 3 } }));
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'b#1', 'm#1', 'b#1', 'm#1', 'x#1']);
    expect(await commitsOf(env, run)).toHaveLength(1);
  });
});

describe('a run whose nodes share commits', () => {
  it('is rerun from a node in the middle of a pack, with the results before it', async () => {
    const { env, run } = await begun(chain);
    await env.settle();
    env.attempts.length = 0;
    const rerun = await rerunRun(env.worker, { sourceRun: run, idempotencyKey: 'r', bodyHash: 'r', from: 'm' });
    if (rerun.kind !== 'started') throw new Error(rerun.kind);
    await env.settle();
    expect(env.attempts).toEqual(['m#1', 'x#1']);
    const { progress, nodes } = (await env.fold({ ...run, runId: rerun.runId })).state;
    expect([progress.status, [...nodes.keys()].toSorted()]).toEqual(['completed', ['a', 'b', 'm', 'x']]);
  });

  it('shows what the log has while a pack is held back', async () => {
    const seen: unknown[] = [];
    const { env, run } = await begun(chain, {
      answer: async (node) => {
        if (node === 'm') {
          const found = await getRun(env.worker, run, true);
          if (found.kind === 'found')
            seen.push(
              found.run.progress.status,
              found.run.nodes?.flatMap(({ node: { id }, state }) => (state === undefined ? [] : [`${id} ${state.status}`])),
            );
        }
        return finished(node);
      },
    });
    await env.settle();
    expect(seen).toEqual(['pending', ['a queued']]);
  });

  it('is not packed where several iterations of a loop run at a time', async () => {
    const loop = flow('a>l l/loop>b b>m l/done>x', ['a', 'b', 'm', 'x'], { l: { items: 2, concurrency: 2 } });
    const { env, run } = await begun(loop);
    await env.settle();
    const commits = await commitsOf(env, run);
    // The results of siblings are committed one by one; what follows the loop may share the last commit.
    for (const commit of commits.slice(0, -1))
      expect(commit.split(' ').filter((word) => /^[bm]$/.test(word)).length).toBeLessThan(2);
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('is not packed in a test run', async () => {
    const env = createTestEnv();
    const nodes = ['a', 'b', 'm'].map((id) => ({ id: nodeId(id), type: 'work', config: { idempotent: true } }));
    const run = await startTestRun(env, { ...definitionOf('draft', 'a>b b>m'), nodes });
    await env.settle();
    expect(await commitsOf(env, run)).toHaveLength(3);
  });
});

describe('the head of a run of idempotent nodes', () => {
  /** Text that hardly compresses. */
  const noise = (node: string, bytes: number): string =>
    Array.from({ length: Math.ceil(bytes / 64) }, (_, at) => createHash('sha256').update(`${node} ${at}`).digest('hex')).join('');
  /** Of an installation that publishes failures alone. */
  async function quiet(version: WorkflowVersion, options: Parameters<typeof createTestEnv>[0] = {}) {
    const env = createTestEnv(options);
    env.ports.notices.runEvents = 'failed';
    await env.publish(version);
    return { env, run: await env.begin('flow') };
  }
  const projections = (env: TestEnv) => vi.spyOn(env.ports.log, 'project');

  it('holds the pack, and shows the end with it', async () => {
    const { env, run } = await quiet(chain);
    const projecting = projections(env);
    await env.settle();
    const { head } = await env.fold(run);
    expect(head).toMatchObject({ holdsSecondCommit: true, projection: { status: 'completed', asOf: 2 } });
    expect(await commitsOf(env, run)).toHaveLength(1);
    expect(projecting).not.toHaveBeenCalled();
  });

  it('shows a published end after it was published', async () => {
    const { env, run } = await quiet(chain);
    env.ports.notices.runEvents = 'ended';
    const projecting = projections(env);
    await env.settle();
    expect((await env.fold(run)).head.projection).toMatchObject({ status: 'completed', asOf: 2 });
    expect(projecting).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['up to 3,500 bytes that end the run', 500, 1],
    ['no more, but the first result', 2_200, 2],
  ])('holds results of %s', async (_name, bytes, commits) => {
    const { env, run } = await quiet(chain, { answer: (node) => finished(noise(node, bytes)) });
    await env.settle();
    const all = ['RUN_STATUS_CHANGED a >b', 'b >m m >x x RUN_STATUS_CHANGED RUN_COMPLETED'];
    expect(await commitsOf(env, run)).toEqual(commits === 2 ? all : [all.join(' ')]);
    expect((await env.fold(run)).head.projection).toMatchObject({ status: 'completed', asOf: commits + 1 });
    expect(env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'x#1']);
  });

  it('holds the cancellation, and another process finds it', async () => {
    const { env, run } = await quiet(chain);
    await cancelRun(env.worker, run, 'not needed');
    expect((await env.fold(run)).head.projection).toMatchObject({ status: 'cancelled', asOf: 2 });
    await env.settle();
    expect(await commitsOf(env, run)).toEqual(['RUN_STATUS_CHANGED RUN_CANCELLED']);
  });

  it.each([
    ['a node with side effects', flow('a>b b>m m>x', ['a', 'b', 'x'])],
    ['a node whose start is on record', flow('a>b', ['a', 'b'], { b: { announces: true } })],
    ['26 nodes', flow(chainOf(26), namesOf(26))],
    ['two branches', flow('a>b a>m', ['a', 'b', 'm'])],
    ['two beginnings', flow('a>m b>m', ['a', 'b', 'm'])],
  ])('holds no commit of a run with %s', async (_name, version) => {
    const { env, run } = await quiet(version);
    expect((await env.fold(run)).head).not.toHaveProperty('holdsSecondCommit');
  });

  it('holds no commit where each end is published, which is a write of its own', async () => {
    const { env, run } = await begun(chain);
    expect((await env.fold(run)).head).not.toHaveProperty('holdsSecondCommit');
  });

  it('holds no commit of a run with a concurrency limit', async () => {
    const { env, run } = await quiet({ ...chain, options: { maxConcurrentRuns: 1 } });
    expect((await env.fold(run)).head).not.toHaveProperty('holdsSecondCommit');
  });
});

describe('a pack is committed', () => {
  it('when its first result is old enough', async () => {
    const { env, run } = await begun(chain, {
      answer: (node) => {
        env.ports.clock.advance(durationMs(maxPackAge * 0.4));
        return finished(node);
      },
    });
    await env.settle();
    expect(await commitsOf(env, run)).toEqual(['RUN_STATUS_CHANGED a >b b >m m >x', 'x RUN_STATUS_CHANGED RUN_COMPLETED']);
  });

  it('while a node runs, when its first result is old enough', async () => {
    const seen: string[] = [];
    const { env, run } = await begun(chain, {
      answer: async (node) => {
        if (node !== 'm') return finished(node);
        env.ports.clock.advance(maxPackAge);
        await until(async () => (await commitsOf(env, run)).length > 0);
        seen.push(...(await commitsOf(env, run)));
        return finished(node);
      },
    });
    await env.settle();
    expect(seen).toEqual(['RUN_STATUS_CHANGED a >b b >m']);
    expect(await commitsOf(env, run)).toEqual([...seen, 'm >x x RUN_STATUS_CHANGED RUN_COMPLETED']);
    expect(env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'x#1']);
  });

  it('when its events are long', async () => {
    const { env, run } = await begun(chain, { answer: (node) => finished(node.repeat(30_000)) });
    await env.settle();
    expect(await commitsOf(env, run)).toEqual(['RUN_STATUS_CHANGED a >b b >m m >x', 'x RUN_STATUS_CHANGED RUN_COMPLETED']);
  });

  it('when a node fails and is tried again', async () => {
    const { env, run } = await begun(chain, {
      answer: (node, attempt) => (node === 'm' && attempt === 1 ? failing() : finished(node)),
    });
    await env.settle();
    expect(await commitsOf(env, run)).toEqual([
      'RUN_STATUS_CHANGED a >b b >m NODE_RETRIED m',
      'm >x x RUN_STATUS_CHANGED RUN_COMPLETED',
    ]);
    expect(env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'm#2', 'x#1']);
  });
});

describe('another writer', () => {
  it('that cancels the run has the run end, and the pack is dropped', async () => {
    const { env, run } = await begun(chain, {
      answer: async (node) => {
        if (node === 'm') await cancelRun(env.worker, run);
        return finished(node);
      },
    });
    await env.take(first(run));
    const { progress, nodes } = (await env.fold(run)).state;
    expect(progress.status).toBe('cancelled');
    expect([...nodes.keys()]).toEqual(['a']);
  });

  it('that commits something else leaves the first result, and the later nodes run again', async () => {
    const { env, run } = await begun(chain, {
      answer: async (node, _attempt) => {
        if (node === 'm' && env.attempts.length === 3) await recover(env, run);
        return finished(node);
      },
    });
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'x#1', 'b#1', 'm#1', 'x#1']);
    expect(await commitsOf(env, run)).toEqual([
      'RUN_RECOVERED',
      'RUN_STATUS_CHANGED a >b',
      'b >m m >x x RUN_STATUS_CHANGED RUN_COMPLETED',
    ]);
  });
});

describe('after a failure', () => {
  it('a redelivered message has a commit for each node', async () => {
    const { env, run } = await begun(chain);
    await env.take(first(run), { isRedelivered: true });
    expect(await commitsOf(env, run)).toEqual(['RUN_STATUS_CHANGED a >b', 'b >m', 'm >x', 'x RUN_STATUS_CHANGED RUN_COMPLETED']);
  });

  it('a job that was sent again has a commit for each node', async () => {
    const { env, run } = await begun(chain);
    await env.take(jobFor(run, 'a', firstCommit, firstAttempt, 1));
    expect(await commitsOf(env, run)).toHaveLength(4);
  });

  it('a lost answer of the put is not a lost put', async () => {
    let lost = 1;
    const { env, run } = await begun(chain, {
      wrap: (deps) => ({
        ...deps,
        clock: overrideMethods(deps.clock, {
          sleep: (wait, signal) => (signal === undefined ? Promise.resolve() : deps.clock.sleep(wait, signal)),
        }),
        log: overrideMethods(deps.log, {
          put: async (...args: Parameters<Deps['log']['put']>) => {
            const result = await deps.log.put(...args);
            lost -= 1;
            if (lost === 0) throw new Unavailable('the answer');
            return result;
          },
        }),
      }),
    });
    await env.settle();
    expect(env.attempts).toEqual(['a#1', 'b#1', 'm#1', 'x#1']);
    expect(await commitsOf(env, run)).toHaveLength(1);
  });

  it('a worker that dies before it commits a pack leaves the first node open', async () => {
    const { env, run } = await begun(chain, {
      answer: (node) => {
        if (node === 'm' && env.attempts.length === 3) throw new Unavailable('the machine');
        return finished(node);
      },
    });
    await expect(env.take(first(run))).rejects.toThrow(Unavailable);
    expect(await commitsOf(env, run)).toEqual([]);
    await env.take(first(run), { isRedelivered: true });
    expect((await env.fold(run)).state.progress.status).toBe('completed');
  });

  it('a run past its deadline ends there, and nothing of the pack is recorded after it', async () => {
    const { env, run } = await begun(chain, {
      answer: (node) => {
        if (node === 'b') env.ports.clock.set(after(env.ports.clock.now(), minutes(60 * 24 * 30)));
        return finished(node);
      },
    });
    await env.take(first(run));
    const { state } = await env.fold(run);
    expect(state.progress.status).toBe('failed');
    expect(state.asOf).toBe(commitNo(2));
  });
});

async function recover(env: TestEnv, run: RunAddress): Promise<void> {
  const fold = await env.fold(run);
  await env.ports.log.put(
    run,
    {
      number: commitNo(fold.state.asOf + 1),
      firstEventId: fold.state.nextEventId,
      events: [{ type: 'RUN_RECOVERED', nodes: ['a'] }],
      at: env.ports.clock.now(),
      by: 'sweep',
      nonce: env.ports.ids.nonce(),
    },
    fold.head.expiresAt,
  );
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let turns = 0; !(await condition()); turns += 1) {
    if (turns > 1_000) throw new Error('it did not happen');
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}
