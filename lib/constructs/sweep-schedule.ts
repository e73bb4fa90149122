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

/** Lambda's minimum, and the time until the next sweep. */
export const maxEventAgeSeconds = 60;

/**
 * Starts the sweep every minute. A failed sweep is not retried, because the next one does its work. EventBridge Scheduler invokes
 * Lambda asynchronously. By default, Lambda would retry throttled invocations for six hours and start them all after an outage.
 */
export class SweepSchedule extends Construct {
  constructor(scope: Construct, id: string, { sweep, group }: SweepScheduleProps) {
    super(scope, id);
    const role = new iam.Role(this, 'Role', {
      description: 'Allows the schedule of Stepwell to invoke the sweep',
      assumedBy: schedulerPrincipal(group),
    });
    role.addToPolicy(new iam.PolicyStatement({ actions: ['lambda:InvokeFunction'], resources: [sweep.functionArn] }));
    sweep.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: Duration.seconds(maxEventAgeSeconds) });
    new scheduler.Schedule(this, 'EveryMinute', {
      description: 'Starts the sweep, which recovers stale runs',
      schedule: scheduler.ScheduleExpression.rate(Duration.minutes(1)),
      scheduleGroup: group,
      // Not the CDK's target: it also grants access to every version of the function.
      target: { bind: () => ({ arn: sweep.functionArn, role, retryPolicy: { maximumRetryAttempts: 0 } }) },
    });
  }
}
