/** Schemas for test runs and views. */
import * as z from 'zod';
import { runStatuses } from '../../engine/log/head.ts';
import { json, workflowName } from './parts.ts';
import { graph } from './workflows.ts';

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

export const testWorkflowBody = z
  .strictObject({
    name: workflowName.exactOptional(),
    ...graph,
    input: json.exactOptional(),
    pinned: z.record(z.string(), pinnedOutput).default({}).meta({ description: 'nodes that do not run, by id' }),
  })
  .meta({ id: 'TestWorkflow' });
export const testedResponse = z.strictObject({ runId: z.string(), isTest: z.literal(true) });

export const stoppedResponse = z.strictObject({ runId: z.string(), deleted: z.literal(true) });

export const viewRunBody = z
  .strictObject({ config: json.meta({ description: 'any JSON value that contains templates such as {{ctx.order.total}}' }) })
  .meta({ id: 'ViewRun' });
export const viewResponse = z.strictObject({
  view: json.meta({ description: 'the configuration with resolved templates' }),
  status: z.enum(runStatuses),
  lastEventId: z.int(),
});
