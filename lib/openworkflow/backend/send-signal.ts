/**
 * Brings a signal to every wait that is open for it. Each delivery is decided in the log of its run, once for each wait. What is
 * sent under a key is written down first, with the waits that it is for: the same key goes on where the first sender died.
 */
import type { JsonValue } from '../../engine/json.ts';
import { decideDelivery, openWaits } from '../../engine/polled/decide.ts';
import type { PolledRunId, StepAttemptId } from '../../engine/polled/ids.ts';
import { forgetAt } from '../../engine/polled/run.ts';
import type { Sending, SignalWaiter } from '../../ports/polled-runs.ts';
import { fitting } from './fitting.ts';
import type { Ledgers } from './ledgers.ts';
import type { BackendParts } from './parts.ts';

/** So many runs are asked at once. */
const atOnce = 16;
/** What is sent under a key names whom it is for, in one item. */
const mostTargets = 5_000;

export interface Signal {
  readonly namespaceId: string;
  readonly signal: string;
  readonly data: JsonValue;
  readonly key: string | null;
}

interface Target {
  readonly runId: PolledRunId;
  readonly waits: readonly StepAttemptId[];
}

/** @returns the runs that it has reached */
export async function sendSignal(parts: BackendParts, ledgers: Ledgers, sent: Signal): Promise<readonly PolledRunId[]> {
  const { store, clock, newId } = parts;
  const { namespaceId, signal, data, key } = sent;
  if (key === null) return deliver(ledgers, sent, data, await targetsOf(parts, ledgers, sent), newId());
  const begun = (await store.sending(namespaceId, signal, key)) ?? (await begin());
  if (begun === undefined) return [];
  if (begun.reached !== undefined) return begun.reached;
  const reached = await deliver(ledgers, sent, begun.data, begun.targets, JSON.stringify([signal, key]));
  // A signal that reaches nobody is not remembered.
  if (reached.length === 0) await store.dropSending(namespaceId, signal, key);
  else await store.endSending(namespaceId, signal, key, reached);
  return reached;

  async function begin(): Promise<Sending | undefined> {
    const targets = await targetsOf(parts, ledgers, sent);
    if (targets.length === 0 || key === null) return undefined;
    if (targets.length > mostTargets) throw new RangeError(`${targets.length} runs wait for it: a key allows ${mostTargets}`);
    const forget = forgetAt({ createdAt: clock.now(), deadlineAt: null });
    return store.beginSending(namespaceId, signal, key, fitting('a signal under a key', { data, targets }), forget);
  }
}

async function targetsOf({ store }: BackendParts, ledgers: Ledgers, { namespaceId, signal }: Signal): Promise<readonly Target[]> {
  const waiters = await store.waiters(namespaceId, signal);
  const targets = await eachOf(waiters, async (waiter: SignalWaiter) => {
    const state = await ledgers.state({ namespaceId, runId: waiter.runId });
    // The entry of the wait may be on its way.
    if (state === undefined || state.last < waiter.since) return [];
    const waits = openWaits(state, signal);
    if (waits.length > 0) return [{ runId: waiter.runId, waits }];
    await store.dropWaiter(namespaceId, signal, waiter);
    return [];
  });
  return targets.flat();
}

async function deliver(
  ledgers: Ledgers,
  { namespaceId, signal }: Signal,
  data: JsonValue,
  targets: readonly Target[],
  sending: string,
): Promise<readonly PolledRunId[]> {
  const reached = await eachOf(targets, async ({ runId, waits }) => {
    const sent = { signal, data, sending, only: waits };
    const { kind } = await ledgers.change({ namespaceId, runId }, (state) => decideDelivery(state, sent));
    return kind === 'refused' ? [] : [runId];
  });
  return reached.flat();
}

async function eachOf<Given, Result>(given: readonly Given[], ask: (one: Given) => Promise<Result>): Promise<readonly Result[]> {
  const results: Result[] = [];
  for (let start = 0; start < given.length; start += atOnce)
    results.push(...(await Promise.all(given.slice(start, start + atOnce).map(ask))));
  return results;
}
