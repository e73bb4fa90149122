/** The event source mappings of the template, with the checks that Lambda makes at their creation. */
import * as z from 'zod';
import { lastPart } from '../aws-environment.ts';
import type { LambdaFunction } from '../lambda/function.ts';
import type { Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';

export interface Mapping {
  readonly queueArn: string;
  readonly queueUrl: string;
  /** after this many receives a message moves to the dead-letter queue; undefined: there is none */
  readonly maxReceiveCount: number | undefined;
  readonly target: LambdaFunction;
  readonly batchSize: number;
  /** maximum concurrent batches */
  readonly concurrency: number;
  readonly reportsFailures: boolean;
}

const shape = z.strictObject({
  EventSourceArn: z.string(),
  FunctionName: z.string(),
  BatchSize: z.number().default(10),
  Enabled: z.boolean().default(true),
  FunctionResponseTypes: z.array(z.literal('ReportBatchItemFailures')).default([]),
  MaximumBatchingWindowInSeconds: z.literal(0).optional(),
  ScalingConfig: z.object({ MaximumConcurrency: z.number().min(2) }).optional(),
  Tags: z.unknown().optional(),
});

const redriveShape = z.looseObject({ maxReceiveCount: z.coerce.number() }).optional();

/** The permissions that the function's role must have before Lambda accepts the mapping. */
export const mappingActions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'] as const;

export function readMappings(
  template: Template,
  functionOf: (nameOrArn: string) => LambdaFunction | undefined,
): readonly Mapping[] {
  return template.of('AWS::Lambda::EventSourceMapping').flatMap(({ logicalId, properties }) => {
    const parsed = shape.safeParse(properties);
    if (!parsed.success)
      throw new TemplateError(`${logicalId}: the event source mapping is not valid: ${z.prettifyError(parsed.error)}`);
    const { EventSourceArn, FunctionName, BatchSize, FunctionResponseTypes, ScalingConfig, Enabled } = parsed.data;
    const queue = template.of('AWS::SQS::Queue').find(({ arn }) => arn === EventSourceArn);
    const target = functionOf(lastPart(FunctionName));
    if (queue === undefined || target === undefined)
      throw new TemplateError(`${logicalId}: ${EventSourceArn} or ${FunctionName} is in no stack`);
    const visibilityMs = Number(queue.properties['VisibilityTimeout'] ?? 30) * 1_000;
    if (visibilityMs < target.timeoutMs) {
      throw new TemplateError(
        `${logicalId}: Queue visibility timeout: ${visibilityMs / 1_000} seconds is less than Function timeout: ${target.timeoutMs / 1_000} seconds`,
      );
    }
    if (!Enabled) return [];
    return {
      queueArn: EventSourceArn,
      queueUrl: queue.ref,
      maxReceiveCount: redriveShape.parse(queue.properties['RedrivePolicy'])?.maxReceiveCount,
      target,
      batchSize: BatchSize,
      concurrency: Math.min(ScalingConfig?.MaximumConcurrency ?? target.concurrency, target.concurrency),
      reportsFailures: FunctionResponseTypes.length > 0,
    };
  });
}
