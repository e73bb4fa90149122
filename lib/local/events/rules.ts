/** Rules of EventBridge from the template, with the checks that AWS makes when it creates a rule and its targets. Targets are queues. */
import * as z from 'zod';
import { lastPart } from '../aws-environment.ts';
import { readQueuePolicies, type QueuePolicies } from '../policy/queue-policies.ts';
import { inNoStack, type Resource, type Template } from '../template/template.ts';
import { TemplateError } from '../template/template-error.ts';
import { compilePattern } from './pattern.ts';
import { PatternError } from './pattern-values.ts';

/** EventBridge's default: https://docs.aws.amazon.com/eventbridge/latest/APIReference/API_RetryPolicy.html */
const maxRetries = 185;
const maxAgeSeconds = 86_400;
/** EventBridge's quota for a rule. */
const maxTargets = 5;

const targetShape = z.strictObject({
  Arn: z.string(),
  Id: z.string(),
  SqsParameters: z.strictObject({ MessageGroupId: z.string() }).optional(),
  RetryPolicy: z
    .strictObject({
      MaximumRetryAttempts: z.number().int().min(0).max(maxRetries).default(maxRetries),
      MaximumEventAgeInSeconds: z.number().int().min(60).max(maxAgeSeconds).default(maxAgeSeconds),
    })
    .default({ MaximumRetryAttempts: maxRetries, MaximumEventAgeInSeconds: maxAgeSeconds }),
  DeadLetterConfig: z.strictObject({ Arn: z.string() }).optional(),
  Input: z.unknown().optional(),
  InputPath: z.unknown().optional(),
  InputTransformer: z.unknown().optional(),
});

const ruleShape = z.strictObject({
  Name: z.string().optional(),
  Description: z.string().optional(),
  Tags: z.unknown().optional(),
  EventBusName: z.string().default('default'),
  State: z.enum(['ENABLED', 'DISABLED']).default('ENABLED'),
  EventPattern: z.unknown().optional(),
  Targets: z.array(targetShape).min(1).max(maxTargets),
});

export interface RuleTarget {
  readonly ruleArn: string;
  readonly queueArn: string;
  readonly queueUrl: string;
  readonly messageGroupId: string | undefined;
  /** retries after the first attempt */
  readonly retries: number;
  readonly maxAgeMs: number;
  readonly deadLetterUrl: string | undefined;
}

export interface Rule {
  readonly bus: string;
  /** tests an event in EventBridge's envelope */
  readonly matches: (event: unknown) => boolean;
  readonly targets: readonly RuleTarget[];
}

type Target = z.output<typeof targetShape>;

interface ReadRule {
  readonly template: Template;
  readonly mayDo: QueuePolicies;
  readonly resource: Resource;
}

function patternOf(pattern: unknown, { logicalId }: Resource): Rule['matches'] {
  try {
    return compilePattern(pattern);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new TemplateError(`${logicalId}: Event pattern is not valid. Reason: ${error.message}`);
  }
}

/** The queue of a target or of its dead letters, which must permit the rule to send. AWS would drop the events without an error. */
function readQueue({ template, mayDo, resource }: ReadRule, arn: string, role: 'target' | 'dead-letter queue'): Resource {
  const queue = template.of('AWS::SQS::Queue').find((one) => one.arn === arn);
  if (queue === undefined && !arn.includes(':sqs:'))
    throw new TemplateError(
      `${resource.logicalId}: the ${role} ${arn} is no queue; the embedded cloud delivers events to queues only`,
    );
  if (queue === undefined) throw inNoStack(resource, `the ${role}`, arn);
  const permission = { service: 'events.amazonaws.com', action: 'sqs:SendMessage', sourceArn: resource.arn ?? '' };
  if (!mayDo({ url: queue.ref, arn }, permission))
    throw new TemplateError(
      `${resource.logicalId}: no policy of the queue ${arn} allows EventBridge to send to it for the rule ${resource.arn}`,
    );
  return queue;
}

function readTarget(rule: ReadRule, target: Target): RuleTarget {
  const { resource } = rule;
  const transformation = (['Input', 'InputPath', 'InputTransformer'] as const).find((name) => target[name] !== undefined);
  if (transformation !== undefined)
    throw new TemplateError(
      `${resource.logicalId}: the target ${target.Id} has ${transformation}, which the embedded cloud does not implement: it delivers whole events`,
    );
  const queue = readQueue(rule, target.Arn, 'target');
  if (queue.properties['FifoQueue'] === true) {
    if (target.SqsParameters === undefined)
      throw new TemplateError(
        `${resource.logicalId}: Parameter(s) SqsParameters must be specified for target: ${target.Id}. Its queue is a FIFO queue and needs a MessageGroupId`,
      );
    if (queue.properties['ContentBasedDeduplication'] !== true)
      throw new TemplateError(
        `${resource.logicalId}: the FIFO queue ${target.Arn} needs ContentBasedDeduplication, because EventBridge sends no deduplication id`,
      );
  }
  const deadLetters =
    target.DeadLetterConfig === undefined ? undefined : readQueue(rule, target.DeadLetterConfig.Arn, 'dead-letter queue');
  if (deadLetters?.properties['FifoQueue'] === true)
    throw new TemplateError(`${resource.logicalId}: the dead-letter queue of the target ${target.Id} must be a standard queue`);
  return {
    ruleArn: resource.arn ?? '',
    queueArn: target.Arn,
    queueUrl: queue.ref,
    messageGroupId: target.SqsParameters?.MessageGroupId,
    retries: target.RetryPolicy.MaximumRetryAttempts,
    maxAgeMs: target.RetryPolicy.MaximumEventAgeInSeconds * 1_000,
    deadLetterUrl: deadLetters?.ref,
  };
}

const objectPatternShape = z.looseObject({
  source: z.tuple([z.literal('aws.s3')]),
  detail: z.looseObject({ bucket: z.looseObject({ name: z.array(z.string()) }) }),
});

/** A rule for the objects of buckets that are not here would never match. */
function requireBuckets(pattern: unknown, { template, resource }: ReadRule): void {
  const names = objectPatternShape.safeParse(pattern).data?.detail.bucket.name ?? [];
  const buckets = new Set(template.of('AWS::S3::Bucket').map(({ name }) => name));
  const missing = names.find((name) => !buckets.has(name));
  if (missing !== undefined) throw inNoStack(resource, 'the bucket', missing);
}

export function readRules(template: Template): readonly Rule[] {
  const mayDo = readQueuePolicies(template);
  const buses = new Set(['default', ...template.of('AWS::Events::EventBus').map(({ name }) => name)]);
  return template.of('AWS::Events::Rule').flatMap((resource) => {
    const rule: ReadRule = { template, mayDo, resource };
    const parsed = ruleShape.safeParse(resource.properties);
    if (!parsed.success)
      throw new TemplateError(
        `${resource.logicalId}: the rule is not valid or not implemented by the embedded cloud: ${z.prettifyError(parsed.error)}`,
      );
    const { EventBusName, State, EventPattern, Targets } = parsed.data;
    const bus = lastPart(EventBusName);
    if (!buses.has(bus)) throw inNoStack(resource, 'the event bus', bus);
    const matches = patternOf(EventPattern, resource);
    requireBuckets(EventPattern, rule);
    const targets = Targets.map((target) => readTarget(rule, target));
    return State === 'ENABLED' ? [{ bus, matches, targets }] : [];
  });
}
