/** Event source mappings: reads them from the template, makes the checks of Lambda, and starts their pollers. */
import * as z from 'zod';
import { lastPart } from '../aws-environment.ts';
import type { LambdaFunction } from '../lambda/function.ts';
import { inNoStack, type Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import type { FindFunction } from '../aws/lambda.ts';
import type { Principals } from '../aws/principals.ts';
import type { Fauxqs } from '../emulators/fauxqs.ts';
import type { CallDelay, Recorder } from '../recorder.ts';
import { type Poller, startPoller } from './poller.ts';
import { createQueueClient } from './queue-client.ts';

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

/** Lambda's limits for queues: https://docs.aws.amazon.com/lambda/latest/api/API_CreateEventSourceMapping.html */
const maxBatchSize = 10_000;
/** of a FIFO queue, and of a standard queue without a batching window */
const maxUnwindowedBatchSize = 10;

const shape = z.strictObject({
  EventSourceArn: z.string(),
  FunctionName: z.string(),
  BatchSize: z.number().int().min(1).max(maxBatchSize).default(10),
  Enabled: z.boolean().default(true),
  FunctionResponseTypes: z.array(z.literal('ReportBatchItemFailures')).default([]),
  MaximumBatchingWindowInSeconds: z.number().int().min(0).max(300).default(0),
  FilterCriteria: z.unknown().optional(),
  ScalingConfig: z.object({ MaximumConcurrency: z.number().min(2).max(1_000) }).optional(),
  Tags: z.unknown().optional(),
});

/** Why Lambda or the embedded cloud refuses the mapping of this queue. */
function refusalOf(
  { BatchSize, MaximumBatchingWindowInSeconds, FilterCriteria }: z.output<typeof shape>,
  isFifo: boolean,
): string | undefined {
  if (isFifo && MaximumBatchingWindowInSeconds > 0) return 'Batching window is not supported for FIFO queues.';
  if (isFifo && BatchSize > maxUnwindowedBatchSize) return `The batch size of a FIFO queue is at most ${maxUnwindowedBatchSize}.`;
  if (BatchSize > maxUnwindowedBatchSize && MaximumBatchingWindowInSeconds === 0)
    return 'Maximum batch window in seconds must be greater than 0 if maximum batch size is greater than 10';
  if (MaximumBatchingWindowInSeconds > 0)
    return 'the embedded cloud does not implement MaximumBatchingWindowInSeconds; set it to 0';
  if (FilterCriteria !== undefined) return 'the embedded cloud does not implement FilterCriteria; filter in the function';
  return undefined;
}

const redriveShape = z.looseObject({ maxReceiveCount: z.coerce.number() }).optional();

/** The permissions that the function's role must have before Lambda accepts the mapping. */
const mappingActions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'] as const;

function readMappings(template: Template, functionOf: (nameOrArn: string) => LambdaFunction | undefined): readonly Mapping[] {
  return template.of('AWS::Lambda::EventSourceMapping').flatMap((resource) => {
    const { logicalId, properties } = resource;
    const parsed = shape.safeParse(properties);
    if (!parsed.success)
      throw new TemplateError(
        `${logicalId}: the event source mapping is not valid, or not implemented by the embedded cloud: ${z.prettifyError(parsed.error)}`,
      );
    const { EventSourceArn, FunctionName, BatchSize, FunctionResponseTypes, ScalingConfig, Enabled } = parsed.data;
    const queue = template.of('AWS::SQS::Queue').find(({ arn }) => arn === EventSourceArn);
    const target = functionOf(lastPart(FunctionName));
    if (queue === undefined) throw inNoStack(resource, 'the queue', EventSourceArn);
    if (target === undefined) throw inNoStack(resource, 'the function', FunctionName);
    const refusal = refusalOf(parsed.data, queue.properties['FifoQueue'] === true);
    if (refusal !== undefined) throw new TemplateError(`${logicalId}: ${refusal}`);
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

export interface MappingParts {
  readonly template: Template;
  readonly principals: Principals;
  readonly find: FindFunction;
  readonly fauxqs: Fauxqs;
  readonly recorder: Recorder;
  readonly warn: (line: string) => void;
  readonly throttledVisibilityMs: number | undefined;
  readonly callDelay?: CallDelay | undefined;
}

export function startMappings({
  template,
  principals,
  find,
  fauxqs,
  recorder,
  warn,
  throttledVisibilityMs,
  callDelay,
}: MappingParts): readonly Poller[] {
  const mappings = readMappings(template, find);
  for (const { target, queueArn } of mappings) {
    const role = template.of('AWS::Lambda::Function').find(({ name }) => name === target.name)?.properties['Role'];
    const actor = { arn: target.arn, roleArn: typeof role === 'string' ? role : '' };
    const denialText = principals.findDenial(
      actor,
      mappingActions.map((action) => ({ action, resource: queueArn })),
    );
    if (denialText !== undefined) throw new TemplateError(`The function's role may not poll its queue: ${denialText}`);
  }
  const queues = createQueueClient(fauxqs.queues, recorder, 'pollers', callDelay);
  return mappings.map((mapping) =>
    startPoller(mapping, queues, { endLongPolls: () => fauxqs.endLongPolls(), warn, throttledVisibilityMs, callDelay }),
  );
}
