/** The group of one-time schedules for delays beyond the SQS maximum of 15 minutes, and the role with which they send messages. */
import { Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { uniquePerStackName } from './installation-name.ts';
import { keyStatement } from './statements.ts';
import type * as lambda from 'aws-cdk-lib/aws-lambda';

/** EventBridge Scheduler's maximum length of a group name. */
const maxNameLength = 64;

export interface TimersProps {
  readonly delayQueue: sqs.IQueue;
  readonly encryptionKey: kms.IKey | undefined;
}

export class Timers extends Construct {
  readonly group: scheduler.ScheduleGroup;
  /** The role of the schedules: it may only send to the delay queue. */
  readonly role: iam.Role;

  constructor(scope: Construct, id: string, props: TimersProps) {
    super(scope, id);
    // No data is lost with the group: the sweep finds each due run in the run records.
    this.group = new scheduler.ScheduleGroup(this, 'Group', {
      scheduleGroupName: uniquePerStackName(this, maxNameLength),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new iam.Role(this, 'Role', {
      description: 'Allows the one-time schedules of Stepwell to send to its delay queue',
      assumedBy: schedulerPrincipal(this.group),
    });
    this.role.addToPolicy(new iam.PolicyStatement({ actions: ['sqs:SendMessage'], resources: [props.delayQueue.queueArn] }));
    if (props.encryptionKey !== undefined) this.role.addToPolicy(keyStatement(this, props.encryptionKey, ['sqs']));
  }

  /** ARNs of all schedules of the group: the functions generate the names at run time. */
  get schedulesArn(): string {
    return Stack.of(this).formatArn({
      service: 'scheduler',
      resource: 'schedule',
      resourceName: `${this.group.scheduleGroupName}/*`,
    });
  }
}

/** Only schedules of this group in this account may assume the role. */
function schedulerPrincipal(group: scheduler.IScheduleGroup): iam.ServicePrincipal {
  return new iam.ServicePrincipal('scheduler.amazonaws.com', {
    conditions: {
      StringEquals: { 'aws:SourceAccount': Stack.of(group).account, 'aws:SourceArn': group.scheduleGroupArn },
    },
  });
}

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
