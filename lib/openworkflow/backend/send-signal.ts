/**
 * Delivers a signal to every open wait for it. The log of each run decides the delivery, once for each wait. A signal with a key is
 * stored first, with its target waits: the same key continues where the first sender crashed.
 */
import type { JsonValue } from '../../engine/json.ts';
import { decideDelivery, openWaits } from '../../engine/external/decide.ts';
import { type ExternalRunId, type StepAttemptId, retainUntil } from '../../engine/external/run.ts';
import type { Sending, SignalWaiter } from '../../ports/external-runs.ts';
import { assertFitsItem } from './assert-fits-item.ts';
import type { RunLogs } from './run-logs.ts';
import type { BackendDeps } from './deps.ts';

/** Concurrency of the deliveries. */
const concurrency = 16;
/** The targets of a signal with a key are stored in one item. */
const maxTargets = 5_000;

export interface Signal {
  readonly namespaceId: string;
  readonly signal: string;
  readonly data: JsonValue;
  readonly key: string | null;
}

interface Target {
  readonly runId: ExternalRunId;
  readonly waits: readonly StepAttemptId[];
}

/** @returns the runs that received the signal */
export async function sendSignal(deps: BackendDeps, runLogs: RunLogs, sent: Signal): Promise<readonly ExternalRunId[]> {
  const { store, clock, newId } = deps;
  const { namespaceId, signal, data, key } = sent;
  if (key === null) return deliver(runLogs, sent, data, await targetsOf(deps, runLogs, sent), newId());
  const activeSending = (await store.sending(namespaceId, signal, key)) ?? (await begin());
  if (activeSending === undefined) return [];
  if (activeSending.reached !== undefined) return activeSending.reached;
  const reached = await deliver(runLogs, sent, activeSending.data, activeSending.targets, JSON.stringify([signal, key]));
  // A signal without targets is not stored.
  if (reached.length === 0) await store.deleteSending(namespaceId, signal, key);
  else await store.endSending(namespaceId, signal, key, reached);
  return reached;

  async function begin(): Promise<Sending | undefined> {
    const targets = await targetsOf(deps, runLogs, sent);
    if (targets.length === 0 || key === null) return undefined;
    if (targets.length > maxTargets)
      throw new RangeError(
        `${targets.length} runs wait for the signal: with an idempotency key it can reach at most ${maxTargets}`,
      );
    const expiresAt = retainUntil({ createdAt: clock.now(), deadlineAt: null });
    return store.beginSending(
      namespaceId,
      signal,
      key,
      assertFitsItem('a signal with an idempotency key', { data, targets }),
      expiresAt,
    );
  }
}

async function targetsOf({ store }: BackendDeps, runLogs: RunLogs, { namespaceId, signal }: Signal): Promise<readonly Target[]> {
  const waiters = await store.waiters(namespaceId, signal);
  const targets = await mapInBatches(waiters, async (waiter: SignalWaiter) => {
    const state = await runLogs.state({ namespaceId, runId: waiter.runId });
    // The entry of the wait may still be being written.
    if (state === undefined || state.last < waiter.since) return [];
    const waits = openWaits(state, signal);
    if (waits.length > 0) return [{ runId: waiter.runId, waits }];
    await store.deleteWaiter(namespaceId, signal, waiter);
    return [];
  });
  return targets.flat();
}

async function deliver(
  runLogs: RunLogs,
  { namespaceId, signal }: Signal,
  data: JsonValue,
  targets: readonly Target[],
  sendId: string,
): Promise<readonly ExternalRunId[]> {
  const reached = await mapInBatches(targets, async ({ runId, waits }) => {
    const sent = { signal, data, sendId, only: waits };
    const { kind } = await runLogs.change({ namespaceId, runId }, (state) => decideDelivery(state, sent));
    return kind === 'refused' ? [] : [runId];
  });
  return reached.flat();
}

async function mapInBatches<Item, Result>(
  items: readonly Item[],
  handleItem: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < items.length; start += concurrency)
    results.push(...(await Promise.all(items.slice(start, start + concurrency).map(handleItem))));
  return results;
}
