import { defined } from '../base/defined.ts';
import { CfnOutput, Stack } from 'aws-cdk-lib';
import * as acm from 'aws-cdk-lib/aws-certificatemanager';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as route53 from 'aws-cdk-lib/aws-route53';
import * as sns from 'aws-cdk-lib/aws-sns';
import type { Construct } from 'constructs';
import type { Domain } from '../constructs/http-api.ts';
import { Stepwell } from '../constructs/stepwell.ts';
import type { Storage } from '../constructs/storage.ts';
import { acknowledgeOwnerWildcards, statementsOf } from './code-permissions.ts';
import { type Settings, environmentOf, productSettings } from './settings.ts';

export interface RuntimeStackProps {
  readonly settings: Settings;
  readonly functionsDirectory: string;
  readonly storage: Storage;
}

/** The replaceable stack: functions, queues, APIs and alarms. Replacing it loses no run. */
export class RuntimeStack extends Stack {
  readonly stepwell: Stepwell;

  constructor(scope: Construct, id: string, { settings, functionsDirectory, storage }: RuntimeStackProps) {
    super(scope, id, { description: 'Stepwell: functions, queues, APIs and alarms', env: environmentOf(settings) });
    const alarmTopic =
      settings.alarmTopicArn === undefined ? undefined : sns.Topic.fromTopicArn(this, 'AlarmTopic', settings.alarmTopicArn);
    const domain = domainOf(this, settings);
    const { codePermissions } = settings;
    this.stepwell = new Stepwell(
      this,
      'Stepwell',
      defined({
        functionsDirectory,
        storage,
        ...productSettings(settings),
        codePermissions: codePermissions === undefined ? undefined : statementsOf(codePermissions),
        alarmTopic,
        domain,
      }),
    );

    const { codeRole } = this.stepwell;
    if (codeRole !== undefined && codePermissions !== undefined) acknowledgeOwnerWildcards(codeRole, codePermissions);

    new CfnOutput(this, 'EventBusName', {
      value: this.stepwell.eventBus.eventBusName,
      description: 'Status changes of runs, for your own rules',
    });
    new CfnOutput(this, 'FirstKeySecretArn', {
      value: this.stepwell.firstKeySecretArn,
      description: 'The secret with the first admin key: stepwell keys bootstrap',
    });
    this.addTriggerQueues(settings);
    const { dashboards } = this.stepwell;
    if (dashboards !== undefined) {
      new CfnOutput(this, 'DashboardUrl', {
        value: `https://${this.region}.console.aws.amazon.com/cloudwatch/home?region=${this.region}#dashboards:name=${dashboards.operation.dashboardName}`,
        description: 'Dashboard: queue ages, errors, throttles and latencies',
      });
    }
    if (settings.codeRunsIn === 'worker' || settings.codeRunsIn === 'both') this.addWorkerPolicy();
    const { httpApi, socketApi, startApi } = this.stepwell;
    if (socketApi !== undefined) {
      new CfnOutput(this, 'SocketUrl', { value: socketApi.url, description: 'WebSocket URL for run updates' });
    }
    if (startApi !== undefined) {
      new CfnOutput(this, 'StartApiUrl', {
        value: startApi.url,
        description: 'URL for starts, signals and reads of runs, at a third of the price of a request: STEPWELL_START_URL',
      });
    }
    if (httpApi === undefined) return;
    new CfnOutput(this, 'ApiUrl', {
      value: domain === undefined ? httpApi.restApi.url : `https://${domain.name}/`,
      description: 'Base URL of the HTTP API',
    });
  }

  /** Outputs of the queues that the setting `triggers` creates. */
  private addTriggerQueues({ triggers = {} }: Settings): void {
    for (const [name, { on }] of Object.entries(triggers)) {
      const isCreated = on.queue !== undefined && on.queue.arn === undefined;
      const queues = isCreated ? this.stepwell.triggerQueues.get(name) : undefined;
      if (queues === undefined) continue;
      new CfnOutput(this, `Trigger${name.replaceAll('-', '')}QueueUrl`, {
        value: queues.queue.queueUrl,
        description: `Messages of this queue start runs: trigger ${name}`,
      });
    }
  }

  /** For roles and users outside the template: a managed policy, and the function whose variables a worker process needs. */
  private addWorkerPolicy(): void {
    const policy = new iam.ManagedPolicy(this, 'WorkerPolicy', {
      description: 'Permissions of a worker process: stepwell worker start',
    });
    this.stepwell.grantWorker(policy);
    new CfnOutput(this, 'WorkerPolicyArn', {
      value: policy.managedPolicyArn,
      description: 'Managed policy for the role of a worker process (stepwell worker start)',
    });
    const code = this.stepwell.functions.get('code');
    if (code === undefined) return;
    new CfnOutput(this, 'CodeFunctionName', {
      value: code.lambda.functionName,
      description: 'The function whose environment variables a worker process needs: aws lambda get-function-configuration',
    });
  }
}

function domainOf(scope: Construct, settings: Settings): Domain | undefined {
  if (settings.domain === undefined) return undefined;
  const { name, certificateArn, hostedZone } = settings.domain;
  return defined({
    name,
    certificate: acm.Certificate.fromCertificateArn(scope, 'Certificate', certificateArn),
    hostedZone:
      hostedZone === undefined
        ? undefined
        : route53.HostedZone.fromHostedZoneAttributes(scope, 'HostedZone', {
            hostedZoneId: hostedZone.id,
            zoneName: hostedZone.name,
          }),
  });
}
