import { Duration } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import { Construct } from 'constructs';
import { schedulerPrincipal } from './timers.ts';

export interface SweepScheduleProps {
  readonly sweep: lambda.IFunction;
  readonly group: scheduler.IScheduleGroup;
}

/** The least that Lambda takes, and the time until the next start. */
const maxEventAge = Duration.seconds(60);

/**
 * Starts the sweep every minute. A start that fails is not retried: the next one finds what it would have found. EventBridge
 * Scheduler invokes Lambda asynchronously, so Lambda has a queue and retries of its own, and by default would begin everything
 * that was throttled in six hours of an outage at once.
 */
export class SweepSchedule extends Construct {
  constructor(scope: Construct, id: string, { sweep, group }: SweepScheduleProps) {
    super(scope, id);
    const role = new iam.Role(this, 'Role', {
      description: 'Lets the schedule of Stepwell start its sweep',
      assumedBy: schedulerPrincipal(group),
    });
    role.addToPolicy(new iam.PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [sweep.functionArn] }));
    sweep.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: maxEventAge });
    new scheduler.Schedule(this, 'EveryMinute', {
      description: 'Finds the runs that nothing moves',
      schedule: scheduler.ScheduleExpression.rate(Duration.minutes(1)),
      scheduleGroup: group,
      // Not the library's own target: it would also grant every version of the function.
      target: { bind: () => ({ arn: sweep.functionArn, role, retryPolicy: { maximumRetryAttempts: 0 } }) },
    });
  }
}
