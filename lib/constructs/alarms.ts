import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as actions from 'aws-cdk-lib/aws-cloudwatch-actions';
import type * as sns from 'aws-cdk-lib/aws-sns';
import { Construct } from 'constructs';
import { type AlarmEntry, alarmEntries } from './alarm-list.ts';
import type { MonitoredResources } from './alarm-metrics.ts';

export interface AlarmsProps {
  readonly monitored: MonitoredResources;
  /** Topic that is notified of every alarm and of its end. */
  readonly topic: sns.ITopic | undefined;
}

/** Each alarm's description links to its page, by the heading. */
const runbook = 'docs/RUNBOOK.md';

export class Alarms extends Construct {
  constructor(scope: Construct, id: string, { monitored, topic }: AlarmsProps) {
    super(scope, id);
    for (const entry of alarmEntries) {
      for (const [index, metric] of entry.metrics(monitored).entries()) {
        const id = index === 0 ? entry.name : `${entry.name}${index + 1}`;
        const alarm = new cloudwatch.Alarm(this, id, { ...alarmProps(entry), metric });
        if (topic === undefined) continue;
        alarm.addAlarmAction(new actions.SnsAction(topic));
        alarm.addOkAction(new actions.SnsAction(topic));
      }
    }
  }
}

const alarmProps = ({ heading, reason, threshold, periods, alarmsWhen }: AlarmEntry) => ({
  alarmDescription: `${heading}. ${reason} ${runbook}#${anchor(heading)}`,
  threshold,
  evaluationPeriods: periods ?? 1,
  comparisonOperator:
    alarmsWhen === 'below'
      ? cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
      : cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
  treatMissingData: alarmsWhen === 'below' ? cloudwatch.TreatMissingData.BREACHING : cloudwatch.TreatMissingData.NOT_BREACHING,
});

/** The URL fragment of a Markdown heading. */
export const anchor = (heading: string) => heading.toLowerCase().replaceAll(' ', '-');
