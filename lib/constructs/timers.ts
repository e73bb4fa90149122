/** One-time schedules for what sleeps longer than a queue can hold a message back, and the role that lets them send. */
import { RemovalPolicy, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import type * as kms from 'aws-cdk-lib/aws-kms';
import * as scheduler from 'aws-cdk-lib/aws-scheduler';
import type * as sqs from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { uniquePerStackName } from './installation-name.ts';
import { keyStatement } from './key-statement.ts';

/** Of the name of a group of schedules. */
const maxNameLength = 64;

export interface TimersProps {
  readonly delayQueue: sqs.IQueue;
  readonly encryptionKey: kms.IKey | undefined;
}

export class Timers extends Construct {
  readonly group: scheduler.ScheduleGroup;
  /** With it a schedule may send to the delay queue, and nothing else. */
  readonly role: iam.Role;

  constructor(scope: Construct, id: string, props: TimersProps) {
    super(scope, id);
    // Replaceable: the sweep knows every wake from the runs themselves.
    this.group = new scheduler.ScheduleGroup(this, 'Group', {
      scheduleGroupName: uniquePerStackName(this, maxNameLength),
      removalPolicy: RemovalPolicy.DESTROY,
    });
    this.role = new iam.Role(this, 'Role', {
      description: 'Lets the one-time schedules of Stepwell send to its delay queue',
      assumedBy: schedulerPrincipal(this.group),
    });
    this.role.addToPolicy(new iam.PolicyStatement({ actions: ['sqs:SendMessage'], resources: [props.delayQueue.queueArn] }));
    if (props.encryptionKey !== undefined) this.role.addToPolicy(keyStatement(this, props.encryptionKey, ['sqs']));
  }

  /** Every schedule of the group: names are made by the functions, so that none can be listed here. */
  get schedulesArn(): string {
    return Stack.of(this).formatArn({
      service: 'scheduler',
      resource: 'schedule',
      resourceName: `${this.group.scheduleGroupName}/*`,
    });
  }
}

/** The Scheduler, on behalf of this group in this account only: no schedule of another's may borrow the role. */
export function schedulerPrincipal(group: scheduler.IScheduleGroup): iam.ServicePrincipal {
  return new iam.ServicePrincipal('scheduler.amazonaws.com', {
    conditions: {
      StringEquals: { 'aws:SourceAccount': Stack.of(group).account, 'aws:SourceArn': group.scheduleGroupArn },
    },
  });
}
