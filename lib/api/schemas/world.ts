/** Bodies of the lane for the programs of deployments. */
import * as z from 'zod';
import { queueNamePattern } from '../../engine/bundle/message.ts';
import { deploymentId, jsonObject } from './parts.ts';

/** Longer waits are an answer of the code: it is asked again after as many seconds as it says. */
const maxDelaySeconds = 86_400;

export const publishBody = z
  .strictObject({
    queueName: z
      .string()
      .regex(queueNamePattern, 'must be __wkf_workflow_<name> or __wkf_step_<name>')
      .meta({ description: '`__wkf_workflow_<name>` or `__wkf_step_<name>`, also with a namespace' }),
    message: jsonObject.meta({ description: 'names its run under `runId` or `workflowRunId`' }),
    opts: z
      .strictObject({
        deploymentId: deploymentId.exactOptional(),
        idempotencyKey: z
          .string()
          .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
          .exactOptional()
          .meta({ description: 'calls with the same key are one; without a key each call sends' }),
        delaySeconds: z.int().min(0).max(maxDelaySeconds).exactOptional(),
      })
      .exactOptional(),
  })
  .meta({ id: 'PublishMessage' });
export const publishedMessageResponse = z.strictObject({ messageId: z.string() });
export const worldDeploymentResponse = z.strictObject({ deploymentId: z.string() });
