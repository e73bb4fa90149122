/** Loads the history of a code run for replay, with every offloaded value resolved. */
import { historyOf } from '../../../engine/durable/history.ts';
import type { History, HistoryEntry, StepResult } from '../../../engine/durable/command-batch.ts';
import { invariant } from '../../../engine/invariant.ts';
import type { JsonValue, Payload, PayloadRef } from '../../../engine/json.ts';
import type { Deps } from '../../deps.ts';
import { loadPayloads } from '../../run-log/payloads.ts';
import type { RunFold } from '../../run-log/read-run-fold.ts';

/** @param loaded values loaded before: one workflow task may receive its history several times */
export async function loadHistory(
  deps: Pick<Deps, 'blobs' | 'clock' | 'log'>,
  { head, state }: Pick<RunFold, 'head' | 'state'>,
  loaded: Map<PayloadRef, JsonValue>,
): Promise<History<JsonValue>> {
  const history = historyOf(state);
  await loadPayloads(deps, head.address, payloadRefsIn(history), loaded);
  const valueOf = (payload: Payload): JsonValue => {
    if (!('ref' in payload)) return payload.value;
    const value = loaded.get(payload.ref);
    invariant(value !== undefined, `the value ${payload.ref} in the history of ${head.address.runId} was not loaded`);
    return value;
  };
  return {
    ...history,
    entries: history.entries.map((entry) => withValue(entry, valueOf)),
    priorResults: history.priorResults.map((prior) => ({ ...prior, output: valueOf(prior.output) })),
  };
}

function payloadRefsIn({ entries, priorResults }: History<Payload>): readonly PayloadRef[] {
  const outputs = [
    ...entries.flatMap((entry) => (entry.kind === 'settled' && entry.result.status === 'completed' ? [entry.result.output] : [])),
    ...priorResults.map(({ output }) => output),
  ];
  return [...new Set(outputs.flatMap((output) => ('ref' in output ? [output.ref] : [])))];
}

const withValue = (entry: HistoryEntry<Payload>, valueOf: (payload: Payload) => JsonValue): HistoryEntry<JsonValue> =>
  entry.kind === 'scheduled' ? entry : { ...entry, result: resultWith(entry.result, valueOf) };

const resultWith = (result: StepResult<Payload>, valueOf: (payload: Payload) => JsonValue): StepResult<JsonValue> =>
  result.status === 'failed' ? result : { ...result, output: valueOf(result.output) };
