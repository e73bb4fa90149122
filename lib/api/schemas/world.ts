/** Schemas of the routes that the Workflow DevKit's World uses. */
import * as z from 'zod';
import { queueNamePattern } from '../../engine/bundle/message.ts';
import { deploymentId, jsonObject } from './parts.ts';

/** For longer waits the code returns a delay, and is called again after it. */
export const maxMessageDelaySeconds = 86_400;

export const publishBody = z
  .strictObject({
    queueName: z
      .string()
      .regex(queueNamePattern, 'must be __wkf_workflow_<name> or __wkf_step_<name>')
      .meta({ description: '`__wkf_workflow_<name>` or `__wkf_step_<name>`, also with a namespace' }),
    message: jsonObject.meta({ description: 'contains the id of its run as `runId` or `workflowRunId`' }),
    opts: z
      .strictObject({
        deploymentId: deploymentId.exactOptional(),
        idempotencyKey: z
          .string()
          .regex(/^[\x20-\x7e]{1,255}$/, 'must be 1 to 255 printable ASCII characters')
          .exactOptional()
          .meta({ description: 'calls with the same key send one message; without a key each call sends one' }),
        delaySeconds: z.int().min(0).max(maxMessageDelaySeconds).exactOptional(),
      })
      .exactOptional(),
  })
  .meta({ id: 'PublishMessage' });
export const publishedMessageResponse = z.strictObject({ messageId: z.string() });
export const worldDeploymentResponse = z.strictObject({ deploymentId: z.string() });
