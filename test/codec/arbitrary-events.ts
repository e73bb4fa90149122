/** Generates events of every type with any valid content. */
import fc from 'fast-check';
import { devKitEvents } from '../../lib/engine/devkit/events.ts';
import { stepKinds } from '../../lib/engine/durable/step.ts';
import { attempt, iterationKey, nodeId, runId, signalId, signalIdPattern } from '../../lib/engine/ids.ts';
import type { JsonValue, Payload } from '../../lib/engine/json.ts';
import type { Failure, RunEvent, RunEventType } from '../../lib/engine/log/events.ts';
import { failureCauses } from '../../lib/engine/retry.ts';
import { durationMs, instant } from '../../lib/engine/time.ts';

const text = fc.string({ unit: 'binary' });
/** JSON values that survive a round trip; a negative zero, for example, does not. */
const json: fc.Arbitrary<JsonValue> = fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value)));
const jsonObject = fc.dictionary(text, json);
const moment = fc.integer({ min: 0, max: 4_000_000_000_000 }).map(instant);
const length = fc.double({ min: 0, max: 1e9, noNaN: true }).map((value) => durationMs(Math.abs(value)));

const payload: fc.Arbitrary<Payload> = fc.oneof(
  json.map((value) => ({ value })),
  fc.record({
    ref: fc.oneof(
      text.map((name) => `item:x${name}` as const),
      text.map((key) => `blob:x${key}` as const),
    ),
    bytes: fc.nat(),
  }),
);

/** An optional member is present or absent, never undefined. */
const maybe = <Name extends string, Value>(name: Name, value: fc.Arbitrary<Value>): fc.Arbitrary<{ [Key in Name]?: Value }> =>
  fc.oneof(
    fc.constant<{ [Key in Name]?: Value }>({}),
    value.map((made) => Object.fromEntries([[name, made]]) as { [Key in Name]?: Value }),
  );

const all = <Parts extends readonly object[]>(...parts: { [Index in keyof Parts]: fc.Arbitrary<Parts[Index]> }) =>
  fc.tuple(...parts).map((made) => Object.assign({}, ...made) as Combined<Parts>);
type Combined<Parts> = Parts extends readonly [infer First, ...infer Rest] ? First & Combined<Rest> : unknown;

const failure: fc.Arbitrary<Failure> = all(
  fc.record({ cause: fc.constantFrom(...failureCauses), message: text }),
  maybe('code', text),
  maybe('details', jsonObject),
  maybe('status', fc.constantFrom('blocked' as const, 'invalidated' as const)),
);

const ofNode = fc.record({
  nodeId: fc.stringMatching(/^[A-Za-z0-9_.:-]{1,40}$/).map(nodeId),
  iteration: fc.stringMatching(/^([A-Za-z0-9]{1,5}\[\d{1,4}\]\/?){0,4}$/).map(iterationKey),
});
const ofAttempt = all(ofNode, fc.record({ attempt: fc.integer({ min: 1, max: 1_000 }).map(attempt) }));
const count = fc.nat();
const tokens = maybe('tokens', fc.record({ input: count, output: count }));
const phase = fc.constantFrom('input' as const, 'output' as const);
const span = fc.record({ startedAt: moment, endedAt: moment });
const printed = maybe('printed', fc.array(text));
const variable = maybe('variable', text);
const via = fc.constantFrom('inline' as const, 'queue' as const, 'collect' as const);
const step = maybe(
  'step',
  all(
    fc.record({ kind: fc.constantFrom(...stepKinds), key: text }),
    maybe('target', text),
    maybe('retry', all(maybe('maximumAttempts', count), maybe('initialIntervalMs', length), maybe('backoffCoefficient', count))),
    maybe('hasRollback', fc.constant(true as const)),
  ),
);
const is = <Type extends RunEventType>(type: Type) => fc.constant({ type });

const members: { readonly [Type in RunEventType]: fc.Arbitrary<Extract<RunEvent, { type: Type }>> } = {
  DEVKIT: all(
    is('DEVKIT'),
    fc.record({ event: fc.constantFrom(...devKitEvents), specVersion: fc.nat() }),
    maybe('correlationId', text),
    maybe('occurredAt', moment),
    maybe('resumeId', text),
    maybe('resumeDigest', text),
    maybe('data', fc.dictionary(text, text)),
    maybe('until', moment),
    maybe('payload', payload),
    maybe('afterEnd', fc.constantFrom('completed' as const, 'failed' as const, 'cancelled' as const)),
  ),
  INPUT_SET: all(is('INPUT_SET'), fc.record({ input: payload })),
  SYSTEM_SET: all(is('SYSTEM_SET'), fc.record({ key: text, value: payload })),
  RUN_STARTED: is('RUN_STARTED'),
  SLOT_AWAITED: all(is('SLOT_AWAITED'), fc.record({ slots: fc.nat() }), maybe('notBefore', moment)),
  SLOT_TAKEN: all(is('SLOT_TAKEN'), fc.record({ slot: fc.nat() })),
  RUN_STATUS_CHANGED: all(
    is('RUN_STATUS_CHANGED'),
    fc.record({ status: fc.constantFrom('running' as const, 'completed' as const, 'failed' as const, 'cancelled' as const) }),
  ),
  RUN_COMPLETED: all(is('RUN_COMPLETED'), fc.record({ output: payload })),
  RUN_FAILED: all(is('RUN_FAILED'), fc.record({ error: failure })),
  RUN_TIMED_OUT: all(is('RUN_TIMED_OUT'), fc.record({ error: failure })),
  RUN_CANCELLED: all(is('RUN_CANCELLED'), maybe('reason', text)),
  RUN_RESUMED: all(is('RUN_RESUMED'), maybe('reason', text), maybe('payload', payload)),
  RUN_RECOVERED: all(is('RUN_RECOVERED'), fc.record({ nodes: fc.array(text) })),
  RUN_RETRIED: all(
    is('RUN_RETRIED'),
    fc.record({ attempt: fc.integer({ min: 1, max: 1_000 }).map(attempt), failure, delayMs: length, retryAt: moment }),
  ),
  ROLLBACK_STARTED: all(
    is('ROLLBACK_STARTED'),
    fc.record({
      runOutcome: fc.oneof(
        fc.record({ status: fc.constantFrom('failed' as const, 'timed_out' as const), error: failure }),
        all(fc.record({ status: fc.constant('cancelled' as const) }), maybe('reason', text)),
      ),
    }),
  ),
  DEADLINE_EXTENDED: all(is('DEADLINE_EXTENDED'), fc.record({ deadlineAt: moment })),
  NODE_DISPATCHED: all(
    is('NODE_DISPATCHED'),
    ofAttempt,
    fc.record({ via, wave: fc.nat() }),
    maybe('notBefore', moment),
    maybe('isPure', fc.constant(true as const)),
    step,
  ),
  NODE_STARTED: all(is('NODE_STARTED'), ofAttempt, fc.record({ startedAt: moment })),
  SLEEP_STARTED: all(is('SLEEP_STARTED'), ofAttempt, fc.record({ wakeAt: moment, output: payload }), step),
  NODE_WOKEN: all(is('NODE_WOKEN'), ofAttempt),
  SIGNAL_AWAITED: all(
    is('SIGNAL_AWAITED'),
    ofAttempt,
    fc.record({ name: text, correlation: text }),
    maybe('expiresAt', moment),
    maybe('expiryHandle', text),
    step,
  ),
  SIGNAL_RECEIVED: all(
    is('SIGNAL_RECEIVED'),
    ofAttempt,
    fc.record({ signalId: fc.stringMatching(signalIdPattern).map(signalId), name: text, correlation: text }),
  ),
  SUBFLOW_CALLED: all(
    is('SUBFLOW_CALLED'),
    ofAttempt,
    fc.record({
      childRunId: fc.constant(runId('wrun_01M7XSDTEE14XW69VBQD8BT3DC')),
      workflowName: text,
      input: payload,
      parentClosePolicy: fc.constantFrom('cancel' as const, 'abandon' as const),
      onChildCancelled: fc.constantFrom('fail' as const, 'cancel' as const),
    }),
    maybe('version', fc.nat()),
    maybe('expiresAt', moment),
    step,
  ),
  NODE_COMPLETED: all(
    is('NODE_COMPLETED'),
    ofAttempt,
    span,
    variable,
    printed,
    tokens,
    fc.record({ output: payload, handle: fc.option(text) }),
    maybe('end', fc.constantFrom('success' as const, 'error' as const)),
  ),
  CONTRACT_VIOLATED: all(is('CONTRACT_VIOLATED'), ofAttempt, fc.record({ phase, errors: fc.array(jsonObject) })),
  MODERATION_FLAGGED: all(is('MODERATION_FLAGGED'), ofAttempt, fc.record({ phase, decision: jsonObject })),
  NODE_RETRIED: all(
    is('NODE_RETRIED'),
    ofAttempt,
    span,
    printed,
    tokens,
    fc.record({ failure, delayMs: length, retryAt: moment, via }),
  ),
  NODE_FAILED: all(
    is('NODE_FAILED'),
    ofAttempt,
    span,
    variable,
    printed,
    tokens,
    fc.record({ failure }),
    maybe('handle', fc.constant('error' as const)),
  ),
  LOOP_STARTED: all(
    is('LOOP_STARTED'),
    ofAttempt,
    fc.record({
      items: fc.nat(),
      pages: fc.array(payload),
      pageSize: fc.nat(),
      itemVariable: text,
      indexVariable: text,
      concurrency: fc.nat(),
      delayMs: length,
      onItemFailure: fc.constantFrom('fail' as const, 'continue' as const),
    }),
  ),
  LOOP_PAUSED: all(is('LOOP_PAUSED'), ofAttempt, fc.record({ wakeAt: moment })),
  LOOP_RESULTS_STORED: all(is('LOOP_RESULTS_STORED'), ofAttempt, fc.record({ results: payload })),
  ITERATION_STARTED: all(is('ITERATION_STARTED'), ofAttempt, fc.record({ index: fc.nat() }), maybe('item', payload)),
  ITERATION_ENDED: all(
    is('ITERATION_ENDED'),
    ofAttempt,
    fc.record({ index: fc.nat(), status: fc.constantFrom('completed' as const, 'failed' as const) }),
    maybe('from', fc.stringMatching(/^[A-Za-z0-9_.:-]{1,40}$/).map(nodeId)),
    maybe('result', payload),
  ),
  NODE_SKIPPED: all(
    is('NODE_SKIPPED'),
    ofNode,
    fc.record({
      reason: fc.constantFrom('branch_not_taken' as const, 'parent_not_successful' as const),
    }),
  ),
};

export const arbitraryEvent: fc.Arbitrary<RunEvent> = fc.oneof(...Object.values(members));
