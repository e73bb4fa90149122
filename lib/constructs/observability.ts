/** What shows how an installation works: exported traces, alarms and dashboards. */
import type * as sns from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import type { TraceSetting } from '../api/schemas/trace-setting.ts';
import { Alarms } from './alarms.ts';
import { Dashboards } from './dashboards.ts';
import type { Functions } from './functions.ts';
import type { HttpApi } from './http-api.ts';
import type { ProductResources } from './resources.ts';
import type { StartApi } from './start-api.ts';
import { Traces } from './traces.ts';

export interface ObservabilityProps {
  /** Whether to create a CloudWatch dashboard. The first three of an account are free. Default: true. */
  readonly dashboard?: boolean;
  /** Topic that is notified of every alarm. Default: none; the alarms are visible in CloudWatch only. */
  readonly alarmTopic?: sns.ITopic;
}

interface Observed extends ObservabilityProps {
  readonly functions: Functions;
  readonly httpApi: HttpApi | undefined;
  readonly startApi: StartApi | undefined;
  /** whether the functions emit metrics of runs */
  readonly metrics: boolean;
  readonly traces: TraceSetting | undefined;
}

export interface Observability {
  readonly alarms: Alarms;
  /** undefined if the setting turns them off */
  readonly dashboards: Dashboards | undefined;
}

/** Creates the constructs directly in `scope`. */
export function createObservability(
  scope: Construct,
  { storage, queues, timers, eventBus }: ProductResources,
  { functions, httpApi, startApi, metrics, traces, dashboard, alarmTopic }: Observed,
): Observability {
  const sender = functions.get('traces');
  const traceQueue =
    sender === undefined || traces === undefined
      ? undefined
      : new Traces(scope, 'Traces', { sender, eventBus, setting: traces }).queue;
  const monitored = {
    traceQueue,
    queues,
    storage,
    timers,
    functions: functions.byName,
    restApi: httpApi?.restApi,
    startApi: startApi?.httpApi,
  };
  const alarms = new Alarms(scope, 'Alarms', { monitored, topic: alarmTopic });
  const dashboards = dashboard === false ? undefined : new Dashboards(scope, 'Dashboards', { monitored, metrics });
  return { alarms, dashboards };
}
