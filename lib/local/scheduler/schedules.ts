/** The schedules of the cloud: the API, the runner that fires them, and the delivery with the permissions of their roles. */
import type { FindFunction } from '../aws/lambda.ts';
import { servicePrincipal, type Principals } from '../aws/principals.ts';
import type { Service } from '../aws/wire.ts';
import { arns, lastPart } from '../aws-environment.ts';
import { invokeAsync } from '../lambda/async-invoke.ts';
import type { Forward } from '../emulators/forward.ts';
import { createQueueClient, type QueueClient } from '../pollers/queue-client.ts';
import type { Recorder } from '../recorder.ts';
import { queueUrlsOf, type Template } from '../template/template.ts';
import { createRunner, type Delivery } from './runner.ts';
import type { ScheduleStore } from './schedule-store.ts';
import { deploySchedules, scheduler } from './service.ts';

interface Targets {
  readonly principals: Principals;
  readonly find: FindFunction;
  /** the URL of a queue by its ARN */
  readonly queueUrlOf: (arn: string) => string | undefined;
  readonly queues: QueueClient;
  readonly warn: (line: string) => void;
}

/** Rejects where the role lacks the permission or the target does not exist; the schedule's retry policy applies. */
async function deliverTo({ principals, find, queueUrlOf, queues, warn }: Targets, { target, input }: Delivery): Promise<void> {
  const actor = servicePrincipal('scheduler', target.RoleArn);
  const requirePermission = (action: string): void => {
    const denialText = principals.findDenial(actor, [{ action, resource: target.Arn }]);
    if (denialText !== undefined) throw new Error(denialText);
  };
  const queueUrl = queueUrlOf(target.Arn);
  if (queueUrl !== undefined) {
    requirePermission('sqs:SendMessage');
    await queues.send(queueUrl, input, target.SqsParameters?.MessageGroupId);
    return;
  }
  const targetFunction = target.Arn.startsWith(arns.lambda('')) ? find(lastPart(target.Arn)) : undefined;
  if (targetFunction === undefined) throw new Error(`the target ${target.Arn} is in no stack`);
  requirePermission('lambda:InvokeFunction');
  invokeAsync(targetFunction, input, warn);
}

export interface Schedules {
  readonly service: Service;
  /** Writes the template's schedules and starts firing. */
  deploy(): void;
  /** Fires what is due by now. */
  rearm(): void;
  stop(): Promise<void>;
}

interface ScheduleParts extends Omit<Targets, 'queueUrlOf' | 'queues'> {
  readonly template: Template;
  readonly store: ScheduleStore;
  /** SQS */
  readonly queues: Forward;
  readonly recorder: Recorder;
}

export function createSchedules({ template, store, queues, recorder, ...parts }: ScheduleParts): Schedules {
  const targets: Targets = {
    ...parts,
    queueUrlOf: queueUrlsOf(template),
    queues: createQueueClient(queues, recorder, 'schedules'),
  };
  const runner = createRunner({ store, warn: targets.warn, deliver: (delivery) => deliverTo(targets, delivery) });
  const groups = new Set(['default', ...template.of('AWS::Scheduler::ScheduleGroup').map(({ name }) => name)]);
  return {
    service: scheduler(store, groups, () => runner.rearm()),
    deploy() {
      deploySchedules(template, store, Date.now());
      runner.rearm();
    },
    rearm: () => runner.rearm(),
    stop: () => runner.stop(),
  };
}
