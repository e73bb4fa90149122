/**
 * The setting `triggers`: queues, events and buckets that start runs. Synthesis parses what the owner writes, and stores what the
 * function needs of each trigger.
 */
import * as z from 'zod';
import { namesReadBy, secretsOf, templateErrorsOf } from '../engine/graph/template.ts';
import * as ids from '../engine/ids.ts';
import { findBodyError } from '../engine/validate-json.ts';
import type { JsonValue } from '../engine/json.ts';

/**
 * - `queue`: messages of an SQS queue;
 * - `event`: events that match a rule of EventBridge;
 * - `object`: objects that are created in an S3 bucket, which EventBridge reports.
 */
const triggerKinds = ['queue', 'event', 'object'] as const;
export type TriggerKind = (typeof triggerKinds)[number];

/** What templates of a trigger can read, as `{{ctx.<name>…}}`. */
const namesOfKind = {
  queue: ['body', 'message'],
  event: ['event'],
  object: ['object', 'event'],
} as const satisfies Record<TriggerKind, readonly string[]>;

/** The name is a part of the ids of resources, and of the idempotency keys of the trigger. */
const triggerNamePattern = /^[A-Za-z][A-Za-z0-9-]{0,47}$/;

const json = z.custom<JsonValue>((value) => value !== undefined && findBodyError(value) === undefined, 'must be a JSON value');

/** Enough for a template, and for a prefix before it. */
const maxKeyTemplateLength = 1_000;
/** Invocations at once. Lambda allows 2 to 1,000 for the event source mapping of a queue. */
const triggerConcurrency = { min: 2, standard: 10, max: 1_000 } as const;

const workflowName = z
  .string()
  .regex(ids.anyWorkflowNamePattern, 'must be the name of a workflow')
  .transform((name) => (ids.devKitNamePattern.test(name) ? ids.devKitName(name) : ids.workflowName(name)));

/** What a trigger starts. */
const startShape = {
  workflowName,
  /** of a published graph; absent: the latest one */
  version: z.int().min(1).exactOptional(),
  /** absent: those of the setting `firstKey` */
  projectId: z.string().regex(ids.projectIdPattern).transform(ids.projectId).exactOptional(),
  environment: z.string().regex(ids.environmentPattern).transform(ids.environment).exactOptional(),
  /** the input of the run, with templates; absent: the body of the message, the event or the object */
  input: json.exactOptional(),
  /** a text with templates; absent: the id of the message or of the event, and of an object the sequencer of its write */
  idempotencyKey: z.string().min(1).max(maxKeyTemplateLength).exactOptional(),
  maxConcurrency: z.int().min(triggerConcurrency.min).max(triggerConcurrency.max).default(triggerConcurrency.standard),
};

type Mapping = Pick<z.output<z.ZodObject<typeof startShape>>, 'input' | 'idempotencyKey'>;

/** Templates that cannot be resolved, and names that a trigger of this kind does not have. */
function mappingErrorsOf(kind: TriggerKind, { input, idempotencyKey }: Mapping): readonly { path: string; message: string }[] {
  const known: readonly string[] = namesOfKind[kind];
  const errorsIn = (value: JsonValue | undefined, path: string) =>
    value === undefined
      ? []
      : [
          ...templateErrorsOf(value),
          ...secretsOf(value).map(({ pointer }) => ({
            pointer,
            message: 'a trigger has no secrets, because its input is stored',
          })),
          ...namesReadBy(value)
            .filter(({ name }) => !known.includes(name))
            .map(({ pointer, name }) => ({
              pointer,
              message: `there is no ctx.${name}: a trigger of this kind has ${known.map((one) => `ctx.${one}`).join(' and ')}`,
            })),
        ].map(({ pointer, message }) => ({ path: `${path}${pointer}`, message }));
  return [...errorsIn(input, '/input'), ...errorsIn(idempotencyKey, '/idempotencyKey')];
}

const startTerms = z.strictObject(startShape);
/** What an owner writes of a start. */
export type StartTerms = z.input<typeof startTerms>;
export type ParsedStartTerms = z.output<typeof startTerms>;

/** @throws zod's error, or an error that names each invalid template */
export function parseStartTerms(name: string, kind: TriggerKind, terms: StartTerms): ParsedStartTerms {
  if (!triggerNamePattern.test(name))
    throw new Error(`trigger_name_invalid: ${JSON.stringify(name)} must match ${triggerNamePattern.source}.`);
  const parsed = startTerms.safeParse(terms);
  if (!parsed.success) throw new Error(`trigger_invalid: the trigger ${name}:\n${z.prettifyError(parsed.error)}`);
  const errors = mappingErrorsOf(kind, parsed.data);
  if (errors.length > 0)
    throw new Error(
      `trigger_template_invalid: the trigger ${name}: ${errors.map(({ path, message }) => `${path}: ${message}`).join('; ')}`,
    );
  return parsed.data;
}

const arnOf = (service: string) => z.string().regex(new RegExp(`^arn:aws[a-z-]*:${service}:`), `must be an ARN of ${service}`);

const queueSource = z.strictObject({
  /** a queue of the account; absent: the deployment creates one */
  arn: arnOf('sqs').exactOptional(),
  /** the dead-letter queue of that queue */
  deadLetterArn: arnOf('sqs').exactOptional(),
  /** whether the created queue is a FIFO queue */
  fifo: z.boolean().exactOptional(),
});

const eventSource = z.strictObject({
  /** a name or an ARN; `stepwell`: the bus of the installation. Default: the default bus of the account */
  bus: z.string().min(1).max(1_600).default('default'),
  pattern: z.record(z.string(), json),
});

const bucketSource = z.strictObject({
  name: z.string().min(3).max(63),
  prefix: z.string().min(1).max(1_024).exactOptional(),
  suffix: z.string().min(1).max(1_024).exactOptional(),
});

const sourceShapes = { queue: queueSource, event: eventSource, bucket: bucketSource } as const;

const source = z
  .strictObject({
    queue: queueSource.exactOptional(),
    event: eventSource.exactOptional(),
    bucket: bucketSource.exactOptional(),
  })
  .refine(
    (given) => Object.values(given).filter((one) => one !== undefined).length === 1,
    `must have one of ${Object.keys(sourceShapes).join(', ')}`,
  )
  .refine(
    ({ queue }) => queue === undefined || (queue.arn === undefined) === (queue.deadLetterArn === undefined),
    'a queue with an arn needs the deadLetterArn of its dead-letter queue, and a created queue has its own',
  )
  .refine(({ queue }) => queue?.arn === undefined || queue.fifo === undefined, 'the ARN tells whether a queue is FIFO');

const trigger = z.strictObject({ ...startShape, on: source });

/** The setting, by the name of the trigger. */
export const triggerSetting = z.record(z.string().regex(triggerNamePattern), trigger);
export type TriggerSetting = z.output<typeof triggerSetting>;

const storedTrigger = z.strictObject({
  name: z.string().min(1),
  kind: z.enum(triggerKinds),
  queueArn: z.string().min(1),
  deadLetterUrl: z.url(),
  /** A message that was received so often without success becomes a dead letter. absent: the queue alone counts. */
  maxReceives: z.int().min(1).exactOptional(),
  projectId: z.string().regex(ids.projectIdPattern).transform(ids.projectId),
  environment: z.string().regex(ids.environmentPattern).transform(ids.environment),
  workflowName,
  version: startShape.version,
  input: startShape.input,
  idempotencyKey: startShape.idempotencyKey,
});
export type StoredTrigger = z.output<typeof storedTrigger>;
/** As synthesis writes it: names of queues are tokens until the deployment. */
export type WrittenTrigger = z.input<typeof storedTrigger>;

/** What the function reads. */
export const storedTriggers = z.array(storedTrigger);
