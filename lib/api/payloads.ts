/** Responses for callers without the scope `payloads:read`: they have states, times, names and codes, and no data of runs. */
import { hiddenText } from '../base/hidden-text.ts';
import type { JsonObject } from '../engine/json.ts';

/** A JSON pointer into a response. `*` is each element of a list. */
export type PayloadPath = `/${string}`;

/** The fields of an event that a caller without `payloads:read` gets. A new field is hidden until it is added here. */
const shownFacts: ReadonlySet<string> = new Set(
  `attempt childRunId deadlineAt delayMs deploymentId end endedAt errorCode event expiresAt expiryHandle from
   handle index isPinned items iteration name nodeId nodes notBefore onChildCancelled parentClosePolicy
   payloadBytes phase retryAt signalId slot slots startedAt status step stepName tokens type until version via
   wakeAt wave workerId workflowName`.split(/\s+/),
);

type Fields = Readonly<Record<string, unknown>>;
const isObject = (value: unknown): value is Fields => typeof value === 'object' && value !== null && !Array.isArray(value);

const hideFailure = (failure: unknown): JsonObject => {
  const { cause, code } = isObject(failure) ? failure : {};
  return { code: String(code ?? cause), cause: String(cause), message: hiddenText };
};

function hidePayload<Value>(payload: Readonly<Record<string, Value>>): Readonly<Record<string, Value | JsonObject>> {
  const shown: Record<string, Value | JsonObject> = {};
  for (const [name, value] of Object.entries(payload)) {
    if (name === 'failure' || name === 'error') shown[name] = hideFailure(value);
    else if (shownFacts.has(name)) shown[name] = value;
  }
  return shown;
}

/** The event without its data. It says so in `payloadsHidden`. */
export const withoutPayload = <Event extends { readonly payload: JsonObject }>(event: Event) => ({
  ...event,
  payload: hidePayload(event.payload),
  payloadsHidden: true,
});

/** Fields that a response must have. All others are left out. */
const emptied: Readonly<Record<string, (value: unknown) => unknown>> = {
  correlation: () => hiddenText,
  error: hideFailure,
  metadata: () => ({}),
  payload: (value) => hidePayload(isObject(value) ? value : {}),
};

function hideAt(value: unknown, [step = '', ...rest]: readonly string[]): unknown {
  if (step === '*') return Array.isArray(value) ? value.map((item: unknown) => hideAt(item, rest)) : value;
  if (!isObject(value) || !Object.hasOwn(value, step)) return value;
  const { [step]: inner, ...others } = value;
  if (rest.length > 0) return { ...others, [step]: hideAt(inner, rest) };
  const empty = emptied[step];
  return empty === undefined ? others : { ...others, [step]: empty(inner) };
}

/** The response without the data at these paths. It says so in `payloadsHidden`. */
export function withoutPayloads(body: unknown, paths: readonly PayloadPath[]): Fields {
  const shown = paths.reduce((value, path) => hideAt(value, path.slice(1).split('/')), body);
  return { ...(isObject(shown) ? shown : {}), payloadsHidden: true };
}
