/** Schemas of signals, of the tags of a run, and of test runs. */
import * as z from 'zod';
import { maxSignalTextLength } from '../../engine/ids.ts';
import { days } from '../../engine/time.ts';
import { eventLimit, json, jsonObject, payloadsHidden, signalId, utcTimestamp, workflowName } from './parts.ts';
import { tagNames, tagSeverities } from '../../engine/log/tags.ts';
import { runStatuses } from '../../engine/log/head.ts';
import { graph } from './workflows.ts';

const signalText = z.string().min(1).max(maxSignalTextLength);
export const maxSignalTtlSeconds = days(30) / 1_000;

const signalFields = {
  name: signalText,
  payload: json.exactOptional().meta({ description: 'absent: null' }),
  signalId: signalId.exactOptional().meta({ description: 'repeating a request with the same id sends the signal once' }),
  expiresInSeconds: z
    .int()
    .min(1)
    .max(maxSignalTtlSeconds)
    .exactOptional()
    .meta({ description: 'how long the signal is stored until a node waits for it; absent: one day' }),
};

export const sendSignalBody = z
  .strictObject({
    ...signalFields,
    correlation: signalText.meta({ description: 'the correlation key; it must equal the correlation of the waiting node' }),
  })
  .meta({ id: 'SendSignal' });
export const sendRunSignalBody = z.strictObject(signalFields).meta({ id: 'SendRunSignal' });

export const sentResponse = z.strictObject({
  signalId: z.string(),
  delivered: z.boolean().meta({ description: 'false: no node waits for it yet, and it is stored' }),
  workflowRunIds: z.array(z.string()).readonly().meta({ description: 'the run that received the signal; empty: it is stored' }),
});

export const listTagsQuery = z.strictObject({
  after: z
    .string()
    .max(32)
    .exactOptional()
    .meta({ description: 'the id of the last event seen; only tags of later events are returned' }),
  limit: eventLimit,
});

export const tagList = z.strictObject({
  data: z
    .array(
      z
        .strictObject({
          tag: z.enum(tagNames),
          severity: z.enum(tagSeverities),
          nodeId: z.string().exactOptional().meta({ description: 'absent: the tag concerns the run' }),
          iteration: z.string().exactOptional(),
          eventId: z.int().meta({ description: 'the event that caused the tag' }),
          timestamp: utcTimestamp,
          metadata: jsonObject,
        })
        .meta({ id: 'RunTag' }),
    )
    .readonly(),
  cursor: z.string().meta({ description: 'pass it as `after` to continue, now or later' }),
  hasMore: z.boolean(),
  ...payloadsHidden,
});

const pinnedOutput = z
  .strictObject({
    output: json,
    handle: z
      .string()
      .min(1)
      .max(128)
      .exactOptional()
      .meta({ description: 'the output handle of the node; absent: the main handle' }),
  })
  .meta({ id: 'PinnedOutput' });

/** By the ids of nodes. */
export const pinnedOutputs = z.record(z.string(), pinnedOutput);

export const testWorkflowBody = z
  .strictObject({
    name: workflowName.exactOptional(),
    ...graph,
    input: json.exactOptional(),
    pinned: pinnedOutputs.default({}).meta({ description: 'nodes that do not run, by id' }),
  })
  .meta({ id: 'TestWorkflow' });
export const testedResponse = z.strictObject({ runId: z.string(), isTest: z.literal(true) });

export const stoppedResponse = z.strictObject({ runId: z.string(), deleted: z.literal(true) });

export const viewRunBody = z
  .strictObject({
    config: json.meta({ description: 'any JSON value that contains templates such as {{ctx.order.total}}' }),
    widgetType: z
      .string()
      .min(1)
      .max(64)
      .exactOptional()
      .meta({ description: 'the type of the widget; the response has it too' }),
  })
  .meta({ id: 'ViewRun' });
export const viewResponse = z.strictObject({
  view: json.meta({ description: 'the configuration with resolved templates' }),
  widgetType: z.string().exactOptional(),
  status: z.enum(runStatuses),
  lastEventId: z.int(),
});
