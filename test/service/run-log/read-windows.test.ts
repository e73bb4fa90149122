/** Pages of a long log: the cost of each depends on its own size, and together they are the whole log. */
import { describe, expect, test } from 'vitest';
import type { CommitNo } from '../../../lib/engine/ids.ts';
import type { RunLog } from '../../../lib/ports/run-log.ts';
import { listEvents } from '../../../lib/service/runs/list-events.ts';
import { listTags } from '../../../lib/service/runs/list-tags.ts';
import { findCommitBefore } from '../../../lib/service/run-log/read-windows.ts';
import { createTestEnv, workflow } from '../test-env.ts';
import { overrideMethods } from '../override-methods.ts';

/** A chain of nodes, each with its own commit. */
const chained = async (nodes: number) => {
  const env = createTestEnv();
  await env.publish(workflow('flow', Array.from({ length: nodes }, (_, at) => `a${at}>a${at + 1}`).join(' ')));
  const run = await env.begin('flow');
  await env.settle();
  const reads: { readonly after: CommitNo; readonly given: number }[] = [];
  const commitsAfter: RunLog['commitsAfter'] = async (address, after, through) => {
    const given = await env.ports.log.commitsAfter(address, after, through);
    reads.push({ after, given: given.length });
    return given;
  };
  return { run, reads, deps: { ...env.deps, log: overrideMethods(env.ports.log, { commitsAfter }) } };
};
const total = (reads: readonly { readonly given: number }[]): number => reads.reduce((sum, { given }) => sum + given, 0);

describe('a log of three thousand commits', () => {
  test('is paged without a gap, and each page reads a few hundred commits at any position', async () => {
    const { deps, run, reads } = await chained(3_000);
    const seen: number[] = [];
    for (let after = 0, isOver = false; !isOver;) {
      reads.length = 0;
      const page = await listEvents(deps, run, { after, limit: 250 });
      if (page.kind !== 'found') throw new Error(page.kind);
      seen.push(...page.events.map(({ eventId }) => eventId));
      [after, isOver] = [page.last, !page.hasMore];
      // Near its start the log is read from there; further on a search finds the position. The page with the run's end names the
      // nodes that the end cancelled, so it needs the fold.
      const fold = page.hasMore ? 0 : 3_000;
      expect(total(reads) - fold).toBeLessThanOrEqual(after <= 1_250 ? 1_500 : 700);
    }
    expect(seen).toEqual(seen.map((_, index) => index + 1));
    expect(seen.length).toBeGreaterThan(6_000);
  });

  test('has the same tags in pages as in one read, and a page is not read beyond its end', async () => {
    const { deps, run, reads } = await chained(3_000);
    const all = await listTags(deps, run, { after: 0, limit: 1_000_000 });
    if (all.kind !== 'found') throw new Error(all.kind);
    const tags = [];
    for (let after = 0, isOver = false; !isOver;) {
      reads.length = 0;
      const page = await listTags(deps, run, { after, limit: 1_000 });
      if (page.kind !== 'found') throw new Error(page.kind);
      tags.push(...page.tags);
      if (after === 0) expect(total(reads)).toBeLessThanOrEqual(1_500);
      [after, isOver] = [page.last, !page.hasMore];
    }
    expect(tags).toEqual(all.tags);
  });
});

test('the search ends at or before the commit of the event, even with a gap', async () => {
  const { deps, run } = await chained(1_500);
  const commits = await deps.log.commitsAfter(run, (await deps.log.head(run))?.commit.number ?? expect.fail('no head'));
  for (const after of [1_001, 1_500, 2_222, 2_999]) {
    const wanted = commits.find(({ firstEventId, events }) => firstEventId + events.length - 1 > after);
    for (const isHoled of [false, true]) {
      const commitsAfter: RunLog['commitsAfter'] = async (address, from, through) => {
        const given = await deps.log.commitsAfter(address, from, through);
        return isHoled && given.length === 1 && (given[0]?.number ?? 0) % 2 === 0 ? [] : given;
      };
      const found = await findCommitBefore({ log: overrideMethods(deps.log, { commitsAfter }) }, run, after);
      expect(found).toBeLessThan(wanted?.number ?? 0);
      if (!isHoled) expect((wanted?.number ?? 0) - found).toBeLessThanOrEqual(101);
    }
  }
});
