/** Delivers what schedules fire, with the permissions of the role that each schedule names. */
import type { FindFunction } from '../aws/lambda.ts';
import { serviceActing, type Principals } from '../aws/principals.ts';
import { invokeAsync } from '../lambda/async-invoke.ts';
import { arns, lastPart } from '../place.ts';
import type { QueueCalls } from '../pollers/queue-calls.ts';
import type { Delivery } from './runner.ts';

export interface Targets {
  readonly principals: Principals;
  readonly find: FindFunction;
  /** the URL of a queue by its ARN */
  readonly queueUrlOf: (arn: string) => string | undefined;
  readonly queues: QueueCalls;
  readonly warn: (line: string) => void;
}

/** Rejects where the role may not, or the target is not there: then the schedule tries again as its policy says. */
export async function deliverTo(
  { principals, find, queueUrlOf, queues, warn }: Targets,
  { target, input }: Delivery,
): Promise<void> {
  const actor = serviceActing('scheduler', target.RoleArn);
  const may = (action: string): void => {
    const refusal = principals.refusal(actor, [{ action, resource: target.Arn }]);
    if (refusal !== undefined) throw new Error(refusal);
  };
  const queueUrl = queueUrlOf(target.Arn);
  if (queueUrl !== undefined) {
    may('sqs:SendMessage');
    await queues.send(queueUrl, input, target.SqsParameters?.MessageGroupId);
    return;
  }
  const called = target.Arn.startsWith(arns.lambda('')) ? find(lastPart(target.Arn)) : undefined;
  if (called === undefined) throw new Error(`the target ${target.Arn} is in no stack`);
  may('lambda:InvokeFunction');
  invokeAsync(called, input, warn);
}
