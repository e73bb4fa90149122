/**
 * Triggers: queues, EventBridge rules and buckets that start runs. Each trigger has a queue whose messages the function `starts`
 * receives, and a dead-letter queue for messages that can start nothing.
 */
import * as events from 'aws-cdk-lib/aws-events';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import type * as s3 from 'aws-cdk-lib/aws-s3';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { defined } from '../base/defined.ts';
import {
  type ParsedStartTerms,
  type StartTerms,
  type TriggerKind,
  type TriggerSetting,
  parseStartTerms,
} from '../triggers/setting.ts';
import type { Alarms } from './alarms.ts';
import type { Functions } from './functions.ts';
import type { ProductResources } from './resources.ts';
import type { RunEventsChoice } from './run-events.ts';
import type { ParsedSettings } from './settings.ts';
import { allow, keyStatement } from './statements.ts';
import { TriggerLoops, busPatternOf } from './trigger-loops.ts';
import {
  type CreatedQueue,
  type TriggerQueues,
  createTriggerQueues,
  maxReceives,
  ownersQueues,
  receivesOf,
} from './trigger-queues.ts';

/** Messages of one invocation. */
const batchSize = 10;

export interface StartOnOptions extends StartTerms {
  /** The dead-letter queue of a queue that the app imports. Default: the one of the queue. */
  readonly deadLetterQueue?: sqs.IQueue;
  /** Of a bucket: only objects whose key begins so. Default: all. */
  readonly prefix?: string;
  /** Of a bucket: only objects whose key ends so. Default: all. */
  readonly suffix?: string;
}

export type StartSource = sqs.IQueue | events.Rule | s3.IBucket | s3.Bucket;

export interface TriggersProps {
  readonly functions: Functions;
  readonly resources: Pick<ProductResources, 'eventBus' | 'storage'>;
  readonly settings: Pick<ParsedSettings, 'triggers' | 'writtenTriggers' | 'firstKey'>;
  readonly encryptionKey: CreatedQueue['encryptionKey'];
  readonly alarms: Alarms;
  readonly runEvents: RunEventsChoice;
}

export class Triggers extends Construct {
  readonly #props: TriggersProps;
  readonly #loops: TriggerLoops;
  readonly #queues = new Map<string, TriggerQueues>();

  constructor(scope: Construct, id: string, props: TriggersProps) {
    super(scope, id);
    this.#props = props;
    this.#loops = new TriggerLoops(this, props.resources.eventBus);
    this.#addAll(props.settings.triggers);
  }

  /** by the name of the trigger */
  get queues(): ReadonlyMap<string, TriggerQueues> {
    return this.#queues;
  }

  /** Adds a trigger of the app's own code. @throws if its terms are invalid */
  add(name: string, source: StartSource, { deadLetterQueue, prefix, suffix, ...terms }: StartOnOptions): TriggerQueues {
    if ('queueArn' in source) {
      const queues = ownersQueues(name, source, deadLetterQueue);
      return this.#start(name, 'queue', terms, queues, receivesOf(source));
    }
    if ('bucketArn' in source) {
      if (source === this.#props.resources.storage.bucket)
        throw new Error(`trigger_loops: the trigger ${name} watches the bucket of Stepwell, to which runs write their values.`);
      source.enableEventBridgeNotification();
      return this.#startOnObjects(name, source.bucketName, defined({ prefix, suffix }), terms);
    }
    return this.#startOnRule(name, source, terms);
  }

  /** Adds the triggers of the setting. */
  #addAll(setting: TriggerSetting): void {
    for (const [name, { on, ...terms }] of Object.entries(setting)) {
      if (on.bucket !== undefined) this.#startOnObjects(name, on.bucket.name, on.bucket, terms);
      else if (on.event !== undefined) {
        const rule = new events.Rule(this, `${name}Rule`, {
          description: `Stepwell: events that start ${terms.workflowName}`,
          ...this.#busOf(name, on.event.bus),
          // The CDK requires a pattern; the owner's own replaces it.
          eventPattern: { source: ['stepwell.none'] },
        });
        const resource = rule.node.defaultChild;
        if (resource instanceof events.CfnRule) resource.eventPattern = on.event.pattern;
        this.#startOnRule(name, rule, terms);
      } else if (on.queue?.arn !== undefined && on.queue.deadLetterArn !== undefined) {
        const queue = sqs.Queue.fromQueueArn(this, `${name}Queue`, on.queue.arn);
        const deadLetters = sqs.Queue.fromQueueArn(this, `${name}DeadLetters`, on.queue.deadLetterArn);
        this.#start(name, 'queue', terms, ownersQueues(name, queue, deadLetters), undefined);
      } else
        this.#start(
          name,
          'queue',
          terms,
          createTriggerQueues(this, name, { fifo: on.queue?.fifo === true, encryptionKey: this.#props.encryptionKey }),
          maxReceives,
        );
    }
  }

  #busOf(name: string, bus: string): { readonly eventBus?: events.IEventBusRef } {
    if (bus === 'default') return {};
    if (bus === 'stepwell') return { eventBus: this.#props.resources.eventBus };
    const id = `${name}Bus`;
    return {
      eventBus: bus.startsWith('arn:')
        ? events.EventBus.fromEventBusArn(this, id, bus)
        : events.EventBus.fromEventBusName(this, id, bus),
    };
  }

  #startOnObjects(
    name: string,
    bucketName: string,
    keys: { readonly prefix?: string | undefined; readonly suffix?: string | undefined },
    terms: StartTerms,
  ): TriggerQueues {
    const key = keyPatternOf(keys);
    const rule = new events.Rule(this, `${name}Rule`, {
      description: `Stepwell: objects that start ${terms.workflowName}`,
      eventPattern: {
        source: ['aws.s3'],
        detailType: ['Object Created'],
        detail: { bucket: { name: [bucketName] }, ...(key === undefined ? {} : { object: { key: [key] } }) },
      },
    });
    return this.#startOnEvents(name, 'object', rule, terms);
  }

  #startOnRule(name: string, rule: events.Rule, terms: StartTerms): TriggerQueues {
    const { resources, runEvents } = this.#props;
    const own = busPatternOf(rule, resources.eventBus);
    if (own !== undefined) runEvents.mustInclude(`the trigger ${name}`, own.statuses);
    this.#loops.add({ name, rule, workflowName: terms.workflowName });
    return this.#startOnEvents(name, 'event', rule, terms);
  }

  #startOnEvents(name: string, kind: TriggerKind, rule: events.Rule, terms: StartTerms): TriggerQueues {
    // Not the owner's KMS key: its policy would have to allow EventBridge to use it.
    const queues = createTriggerQueues(this, name, { fifo: false, encryptionKey: undefined });
    // An event that EventBridge cannot deliver within a day becomes a dead letter too.
    rule.addTarget(new targets.SqsQueue(queues.queue, { deadLetterQueue: queues.deadLetters }));
    return this.#start(name, kind, terms, queues, maxReceives);
  }

  #start(
    name: string,
    kind: TriggerKind,
    given: StartTerms | ParsedStartTerms,
    queues: TriggerQueues,
    receives: number | undefined,
  ): TriggerQueues {
    const { settings, alarms, functions } = this.#props;
    const { maxConcurrency, projectId, environment, ...terms } = parseStartTerms(name, kind, given);
    const { starts } = functions;
    if (starts === undefined) throw new Error(`trigger_without_function: the bundle of the function starts is missing.`);
    if (this.#queues.has(name)) throw new Error(`trigger_name_taken: there are two triggers with the name ${name}.`);
    this.#queues.set(name, queues);
    settings.writtenTriggers.push(
      defined({
        name,
        kind,
        queueArn: queues.queue.queueArn,
        deadLetterUrl: queues.deadLetters.queueUrl,
        maxReceives: receives,
        projectId: projectId ?? settings.firstKey.projectId,
        environment: environment ?? settings.firstKey.environment,
        ...terms,
      }),
    );
    starts.consume(`Trigger${name}`, queues.queue, { batchSize, maxConcurrency });
    starts.role.addToPolicy(allow(['sqs:SendMessage'], [queues.deadLetters.queueArn]));
    for (const key of new Set([queues.queue.encryptionMasterKey, queues.deadLetters.encryptionMasterKey]))
      if (key !== undefined && key !== this.#props.encryptionKey) starts.role.addToPolicy(keyStatement(this, key, ['sqs']));
    alarms.watchTrigger(name, { ...queues, starts: starts.lambda });
    return queues;
  }
}

/** A pattern of EventBridge has one filter for a key. */
function keyPatternOf({ prefix, suffix }: { readonly prefix?: string | undefined; readonly suffix?: string | undefined }) {
  if (prefix !== undefined && suffix !== undefined) return { wildcard: `${escaped(prefix)}*${escaped(suffix)}` };
  if (prefix !== undefined) return { prefix };
  return suffix === undefined ? undefined : { suffix };
}

/** https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html */
const escaped = (text: string): string => text.replaceAll(/[*\\]/g, String.raw`\$&`);
