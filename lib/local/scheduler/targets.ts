/** Delivers the payloads of schedules, with the permissions of the role that each schedule names. */
import type { FindFunction } from '../aws/lambda.ts';
import { servicePrincipal, type Principals } from '../aws/principals.ts';
import { invokeAsync } from '../lambda/async-invoke.ts';
import { arns, lastPart } from '../aws-environment.ts';
import type { QueueClient } from '../pollers/queue-client.ts';
import type { Delivery } from './runner.ts';

export interface Targets {
  readonly principals: Principals;
  readonly find: FindFunction;
  /** the URL of a queue by its ARN */
  readonly queueUrlOf: (arn: string) => string | undefined;
  readonly queues: QueueClient;
  readonly warn: (line: string) => void;
}

/** Rejects where the role lacks the permission or the target does not exist; the schedule's retry policy applies. */
export async function deliverTo(
  { principals, find, queueUrlOf, queues, warn }: Targets,
  { target, input }: Delivery,
): Promise<void> {
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
