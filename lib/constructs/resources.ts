/** The resources that the functions use: data, queues, timers, the event bus and the WebSocket API. */
import * as events from 'aws-cdk-lib/aws-events';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { type NodeQueueKind, Queues } from './queues.ts';
import type { NamedResources } from './settings.ts';
import { SocketApi } from './socket-api.ts';
import { crossStackValue } from './statements.ts';
import type { Storage } from './storage.ts';
import { Timers } from './timers.ts';

export interface ProductResources extends NamedResources {
  readonly storage: Storage;
  readonly queues: Queues;
  readonly timers: Timers;
  /** status changes of runs and deployments */
  readonly eventBus: events.EventBus;
  /** undefined: the socket functions are not deployed */
  readonly sockets: SocketApi | undefined;
  /** the bucket's ARN, as the stack of the functions refers to it */
  readonly bucketArn: string;
  /** the ARN of the first key's secret, as the stack of the functions refers to it */
  readonly firstKeySecretArn: string;
}

export interface ResourcesProps {
  readonly storage: Storage;
  readonly named: NamedResources;
  readonly nodeQueue: NodeQueueKind;
  readonly maxProjectShare: number;
  readonly workerTimeoutSeconds: number;
  readonly codeTimeoutSeconds: number;
  readonly encryptionKey: kms.IKey | undefined;
  readonly hasSockets: boolean;
}

/** Creates the resources directly in `scope`: their logical ids contain no further construct. */
export function createResources(
  scope: Construct,
  { storage, named, hasSockets, encryptionKey, ...queueProps }: ResourcesProps,
): ProductResources {
  const firstKeySecretArn = crossStackValue(scope, storage, storage.firstKeySecret.ref);
  const queues = new Queues(scope, 'Queues', { ...queueProps, encryptionKey });
  const timers = new Timers(scope, 'Timers', { delayQueue: queues.delayed, encryptionKey });
  const eventBus = new events.EventBus(scope, 'EventBus', { description: 'Status changes of the runs of Stepwell' });
  const sockets = hasSockets ? new SocketApi(scope, 'SocketApi') : undefined;
  const bucketArn = crossStackValue(scope, storage, storage.bucket.bucketArn);
  return { ...named, storage, queues, timers, eventBus, sockets, bucketArn, firstKeySecretArn };
}
