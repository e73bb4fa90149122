/** How many rows one request reads to fill a page of runs. */
import { describe, expect, it } from 'vitest';
import {
  type CommitNo,
  type Scope,
  environment,
  correlationId,
  deploymentId,
  eventId,
  firstAttempt,
  firstCommit,
  nodeId,
  nonce,
  projectId,
  runId,
  scheduleId,
  topLevel,
  workflowName,
} from '../../../lib/engine/ids.ts';
import { type Head, firstProjection } from '../../../lib/engine/log/head.ts';
import { callerSystemValues, scheduleSystemValues } from '../../../lib/engine/log/lineage.ts';
import type { JsonValue } from '../../../lib/engine/json.ts';
import { traceparent } from '../../../lib/engine/trace.ts';
import { after, days, instant } from '../../../lib/engine/time.ts';
import { memoryPorts } from '../../../lib/memory/memory-ports.ts';
import { type RunFilters, listRuns, maxRowsRead } from '../../../lib/service/runs/list-runs.ts';
import type { ListPosition, RunIndex } from '../../../lib/ports/run-index.ts';
import { noon } from '../../contract/samples.ts';
import { overrideMethods } from '../override-methods.ts';

const scope: Scope = { projectId: projectId('default'), environment: environment('test') };

/** Newest first: number 0 is the newest. The runs in `old` belong to that workflow, all others to `new`. */
function listing(count: number, old: readonly number[]) {
  const world = memoryPorts({ seed: 1 });
  const heads = Array.from({ length: count }, (_, index): Head => {
    const at = instant(noon - index * 1_000);
    return {
      kind: 'graph',
      workflow: { name: workflowName(old.includes(index) ? 'old' : 'new'), version: 1 },
      deploymentId: null,
      address: { ...scope, runId: runId(`wrun_${String(count - index).padStart(26, '0')}`) },
      createdAt: at,
      deadlineAt: after(at, days(7)),
      expiresAt: after(at, days(38)),
      bodyHash: '',
      commit: { number: firstCommit, firstEventId: eventId(1), events: [], at, by: 'api', nonce: nonce('n') },
      projection: { ...firstProjection, status: 'completed', asOf: 2 as CommitNo },
    };
  });
  const reads: number[] = [];
  const list: RunIndex['list'] = async (_scope, { limit, after: from }) => {
    reads.push(limit);
    const start = from === undefined ? 0 : heads.findIndex(({ createdAt }) => createdAt < from.createdAt);
    const page = start === -1 ? [] : heads.slice(start, start + limit);
    const last = page.at(-1);
    const isMore = start !== -1 && start + limit < count;
    return isMore && last !== undefined
      ? { heads: page, next: { createdAt: last.createdAt, runId: last.address.runId } }
      : { heads: page };
  };
  const deps = { log: world.log, index: overrideMethods(world.index, { list }) };
  const search = (limit: number, from?: ListPosition) =>
    listRuns(deps, scope, { workflowName: workflowName('old') }, { limit, ...(from === undefined ? {} : { after: from }) });
  const all = (limit: number) => listRuns(deps, scope, {}, { limit });
  return { heads, search, all, reads };
}

const numbersOf = ({ runs }: Awaited<ReturnType<typeof listRuns>>): readonly number[] =>
  runs.map((run) => ('head' in run ? (noon - run.head.createdAt) / 1_000 : Number.NaN));

describe('a page of runs', () => {
  it('is read once, with its number of rows, if every row matches', async () => {
    const { all, reads } = listing(500, []);
    expect((await all(20)).runs).toHaveLength(20);
    expect(reads).toEqual([20]);
  });

  it('of one row is filled from the 1,000 newest runs, with growing reads', async () => {
    const { search, reads } = listing(5_000, [999]);
    expect(numbersOf(await search(1))).toEqual([999]);
    expect(reads.slice(0, 8)).toEqual([1, 2, 4, 8, 16, 32, 64, 100]);
    expect(reads.reduce((sum, each) => sum + each, 0)).toBe(maxRowsRead);
    expect(reads.length).toBeLessThanOrEqual(17);
  });

  it('may be empty after 1,000 other rows, and continues at its cursor without a gap', async () => {
    const { search } = listing(3_000, [1_000, 2_500]);
    const found: number[] = [];
    let pages = 0;
    for (let from: ListPosition | undefined; ;) {
      const page = await search(1, from);
      pages += 1;
      found.push(...numbersOf(page));
      if (page.next === undefined) break;
      from = page.next;
    }
    expect(found).toEqual([1_000, 2_500]);
    expect(pages).toBeLessThanOrEqual(5);
  });

  it.each([1, 3, 20, 100])('of at most %i rows returns every match once, in order, over all pages', async (limit) => {
    const old = [0, 1, 2, 50, 51, 99, 100, 101, 777, 1_500, 1_501, 2_099];
    const { search } = listing(2_100, old);
    const found: number[] = [];
    for (let from: ListPosition | undefined; ;) {
      const page = await search(limit, from);
      found.push(...numbersOf(page));
      expect(page.runs.length).toBeLessThanOrEqual(limit);
      if (page.next === undefined) break;
      from = page.next;
    }
    expect(found).toEqual(old);
  });

  it('with the last run has no next page', async () => {
    const { all } = listing(20, []);
    expect((await all(20)).next).toBeUndefined();
    expect((await all(19)).next).toBeDefined();
  });

  it('does not read the logs of runs that the name filter excludes', async () => {
    const world = memoryPorts({ seed: 1 });
    const { heads } = listing(40, []);
    const log = overrideMethods(world.log, { commits: () => Promise.reject(new Error('the log was read')) });
    const open = heads.map((head): Head => ({ ...head, projection: firstProjection }));
    const index = overrideMethods(world.index, { list: async () => ({ heads: open }) });
    expect(await listRuns({ log, index }, scope, { workflowName: workflowName('old') }, { limit: 20 })).toEqual({ runs: [] });
    await expect(listRuns({ log, index }, scope, {}, { limit: 20 })).rejects.toThrow('the log was read');
  });
});

describe('filters by origin', () => {
  const base: Head = {
    kind: 'graph',
    workflow: { name: workflowName('flow'), version: 3 },
    deploymentId: null,
    address: { ...scope, runId: runId(`wrun_${'1'.padStart(26, '0')}`) },
    createdAt: noon,
    deadlineAt: after(noon, days(7)),
    expiresAt: after(noon, days(38)),
    bodyHash: '',
    commit: { number: firstCommit, firstEventId: eventId(1), events: [], at: noon, by: 'api', nonce: nonce('n') },
    projection: { ...firstProjection, status: 'completed', asOf: 2 as CommitNo },
  };
  const parent = runId(`wrun_${'9'.padStart(26, '0')}`);
  const systemValues = (values: Readonly<Record<string, JsonValue>>): Head['commit'] => ({
    ...base.commit,
    events: Object.entries(values).map(([key, value]) => ({ type: 'SYSTEM_SET' as const, key, value: { value } })),
  });
  const caller = { runId: parent, nodeId: nodeId('call'), iteration: topLevel, attempt: firstAttempt, depth: 1 };
  const schedule = scheduleId('nightly');
  const heads: Readonly<Record<string, Head>> = {
    plain: base,
    deployed: { ...base, kind: 'code', workflow: { name: 'flow', version: '2.1' }, deploymentId: deploymentId('dep-1') },
    scheduled: { ...base, commit: systemValues(scheduleSystemValues(schedule, noon)) },
    called: { ...base, commit: systemValues(callerSystemValues({ ...caller, parentClosePolicy: 'cancel' })) },
    correlated: {
      ...base,
      trace: { correlationId: correlationId('order-7'), traceparent: traceparent(`00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`) },
    },
  };
  const namesWith = async (filters: RunFilters): Promise<readonly string[]> => {
    const world = memoryPorts({ seed: 1 });
    const list: RunIndex['list'] = async () => ({ heads: Object.values(heads) });
    const { runs } = await listRuns({ log: world.log, index: overrideMethods(world.index, { list }) }, scope, filters, {
      limit: 10,
    });
    return Object.keys(heads).filter((name) => runs.some((run) => 'head' in run && run.head === heads[name]));
  };

  it.each<readonly [RunFilters, readonly string[]]>([
    [{}, ['plain', 'deployed', 'scheduled', 'correlated']],
    [{ deploymentId: deploymentId('dep-1') }, ['deployed']],
    [{ scheduleId: schedule }, ['scheduled']],
    [{ correlationId: correlationId('order-7') }, ['correlated']],
    [{ calledBy: parent }, ['called']],
    [{ calledBy: base.address.runId }, []],
    [{ version: '3' }, ['plain', 'scheduled', 'correlated']],
    [{ version: '2.1' }, ['deployed']],
    [{ version: '4' }, []],
    [{ version: '3', scheduleId: schedule }, ['scheduled']],
  ])('%j finds %j', async (filters, names) => {
    expect(await namesWith(filters)).toEqual(names);
  });
});
