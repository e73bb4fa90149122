/**
 * Moves the expiry of everything that a run has stored to the expiry of its log: its items, its large values, its concurrency slot, the
 * pin of its deployment, and last its head. Each write can be repeated. The sweep registers waits for signals again, with their expiry.
 */
import type { SlotPoolKey } from '../../engine/concurrency-slots.ts';
import { workflowName } from '../../engine/ids.ts';
import { isTerminal } from '../../engine/log/fold.ts';
import { type Instant, durationMs, seconds } from '../../engine/time.ts';
import type { RetentionJob } from '../../ports/jobs.ts';
import type { RetentionProgress } from '../../engine/log/head.ts';
import { retentionDelay, sendRetention, untilRetention } from '../commit/schedule-retention.ts';
import type { Deps } from '../deps.ts';
import { blobPrefixOf } from '../run-log/payloads.ts';
import { type RunFold, readRunFold } from '../run-log/read-run-fold.ts';

/** Items or values of one call. */
const retentionPageSize = 100;
/** Time that the last page and the next message may take. */
const reserve = seconds(30);

type Position = Pick<RetentionProgress, 'part' | 'after'>;

/**
 * The message says nothing but the run, because deployed code can forge it. When to begin follows from the log, and where to continue
 * from the head, which deployed code cannot write.
 * @param mustEndAt when this invocation must end; another message continues
 */
export async function extendRetention(
  { deps }: { readonly deps: Pick<Deps, 'blobs' | 'clock' | 'concurrencySlots' | 'deployments' | 'jobs' | 'log' | 'settings'> },
  { run }: RetentionJob,
  mustEndAt: Instant,
): Promise<void> {
  const stored = await deps.log.head(run);
  if (stored === undefined) return;
  const fold = await readRunFold(deps, run);
  if (fold === undefined || stored.expiresAt >= fold.head.expiresAt) return;
  const { head, state } = fold;
  const { expiresAt } = head;
  const early = untilRetention(deps, state.deadlineExtension);
  // The time of the commit is in the future: a clock is wrong, or code wrote it. The sweep repeats the message.
  if (early > retentionDelay) return;
  if (early > 0) return sendRetention(deps, head, early);
  // A position counts for one expiry only: what comes before it may have an earlier one.
  let position: Position | undefined = stored.retention?.expiresAt === expiresAt ? stored.retention : undefined;
  for (;;) {
    const next = await extendPage(deps, fold, position);
    if (next === undefined) break;
    position = next;
    if (deps.clock.now() < mustEndAt - reserve) continue;
    await deps.log.saveRetentionProgress(run, { ...position, expiresAt });
    return sendRetention(deps, head, durationMs(0));
  }
  if (!isTerminal(state.progress)) await extendSlotAndPin(deps, fold);
  await deps.log.extendHead(head.address, { deadlineAt: head.deadlineAt, expiresAt });
}

/** @returns the next position; undefined after the last page */
async function extendPage(
  { log, blobs }: Pick<Deps, 'log' | 'blobs'>,
  { head }: RunFold,
  position: Position | undefined,
): Promise<Position | undefined> {
  const page = { ...(position === undefined ? {} : { after: position.after }), limit: retentionPageSize };
  if (position?.part !== 'payloads') {
    const after = await log.extendItems(head.address, head.expiresAt, page);
    if (after !== undefined) return { part: 'items', after };
  }
  const { limit } = page;
  const from = position?.part === 'payloads' ? page : { limit };
  const after = await blobs.extendAll(head.address, blobPrefixOf(head), head.expiresAt, from);
  return after === undefined ? undefined : { part: 'payloads', after };
}

async function extendSlotAndPin(
  { concurrencySlots, deployments }: Pick<Deps, 'concurrencySlots' | 'deployments'>,
  { head, state }: RunFold,
): Promise<void> {
  const { address, createdAt, deploymentId, expiresAt, workflow } = head;
  const slot = state.admission?.slot;
  if (slot !== undefined) {
    const pool: SlotPoolKey = { ...address, workflowName: workflowName(workflow.name) };
    await concurrencySlots.extend(pool, slot, address.runId, expiresAt);
  }
  if (deploymentId !== null) await deployments.extendPin(address, deploymentId, address.runId, { since: createdAt, expiresAt });
}
