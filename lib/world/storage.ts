/** Runs, steps, events and hooks of a World. */
import type { TaggedValue } from './tagged-json.ts';
import type { CallBody, WorldMethod } from './calls.ts';
import type { ReadOptions, WorldStorage } from './types.ts';

/** @throws WorldError */
export type Ask = (method: WorldMethod, body: CallBody) => Promise<TaggedValue>;

/** Parameters of `events.create` that the service reads. The SDK adds others for its own backend, and functions that cannot be sent. */
const eventParameters = [
  'resolveData',
  'requestId',
  'occurredAt',
  'sinceCursor',
  'eventCount',
  'skipPreload',
  'resumeId',
  'resumePayloadDigest',
  'viaStepDispatch',
  'computeInstanceId',
  'v1Compat',
  'stateUpdatedAt',
] as const;

export function storageOf(ask: Ask): WorldStorage {
  return {
    runs: {
      get: (runId, options) => ask('runs.get', { runId, ...readOptions(options) }),
      list: (options = {}) => ask('runs.list', select(options, ['workflowName', 'status', 'pagination', 'resolveData'])),
    },
    steps: {
      get: (runId, stepId, options) => ask('steps.get', { runId, stepId, ...readOptions(options) }),
      list: (options) => ask('steps.list', select(options, listOptions)),
    },
    events: {
      create: (runId, data, params) => ask('events.create', { runId, data, params: createParameters(params) }),
      createBatch: (runId, events, params) =>
        ask('events.createBatch', {
          runId,
          events: events.map(({ event, ...itemParams }) => ({ data: event, params: createParameters(itemParams) })),
          params: createParameters(params),
        }),
      get: (runId, eventId, options) => ask('events.get', { runId, eventId, ...readOptions(options) }),
      list: (options) => ask('events.list', select(options, listOptions)),
      listByCorrelationId: (options) => ask('events.listByCorrelationId', select(options, ['correlationId', ...listOptions])),
    },
    hooks: {
      get: (hookId, options) => ask('hooks.get', { hookId, ...readOptions(options) }),
      getByToken: (token, options) => ask('hooks.getByToken', { token, ...readOptions(options) }),
      list: (options) => ask('hooks.list', select(options, listOptions)),
    },
  };
}

const listOptions = ['runId', 'pagination', 'resolveData'] as const;
const readOptions = (options: ReadOptions | undefined): CallBody => select(options ?? {}, ['resolveData']);

function createParameters(params: object | undefined): CallBody | undefined {
  if (params === undefined) return undefined;
  const selected = select(params, eventParameters);
  return Object.keys(selected).length === 0 ? undefined : selected;
}

/** The named properties, without undefined ones. */
function select(object: object, names: readonly string[]): CallBody {
  return Object.fromEntries(Object.entries(object).filter(([name, value]) => value !== undefined && names.includes(name)));
}
