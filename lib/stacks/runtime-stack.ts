import { defined } from '../engine/defined.ts';
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

/** What can be replaced at any time without losing a run: functions, queues, the API, alarms. */
export class RuntimeStack extends Stack {
  readonly stepwell: Stepwell;

  constructor(scope: Construct, id: string, { settings, functionsDirectory, storage }: RuntimeStackProps) {
    super(scope, id, { description: 'Stepwell: what runs', env: environmentOf(settings) });
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
      description: 'Status changes of runs, for rules of your own',
    });
    new CfnOutput(this, 'FirstKeySecretArn', {
      value: this.stepwell.firstKeySecretArn,
      description: 'The secret with the first admin key: stepwell keys bootstrap',
    });
    const { dashboards } = this.stepwell;
    if (dashboards !== undefined) {
      new CfnOutput(this, 'DashboardUrl', {
        value: `https://${this.region}.console.aws.amazon.com/cloudwatch/home?region=${this.region}#dashboards:name=${dashboards.operation.dashboardName}`,
        description: 'What waits, fails, is throttled or is slow',
      });
    }
    if (settings.codeRunsIn === 'worker' || settings.codeRunsIn === 'both') this.addWorkerPolicy();
    const { httpApi, socketApi } = this.stepwell;
    if (socketApi !== undefined) {
      new CfnOutput(this, 'SocketUrl', { value: socketApi.url, description: 'Where sockets are opened to watch runs' });
    }
    if (httpApi === undefined) return;
    new CfnOutput(this, 'ApiUrl', {
      value: domain === undefined ? httpApi.restApi.url : `https://${domain.name}/`,
      description: 'Base URL of the HTTP API',
    });
  }

  /** For roles and users that are in no template: a policy to attach, and where the rest is to be read. */
  private addWorkerPolicy(): void {
    const policy = new iam.ManagedPolicy(this, 'WorkerPolicy', {
      description: 'What a process may do that runs the code of deployments: stepwell worker start',
    });
    this.stepwell.grantWorker(policy);
    new CfnOutput(this, 'WorkerPolicyArn', {
      value: policy.managedPolicyArn,
      description: 'For the role of a process that runs stepwell worker start',
    });
    const code = this.stepwell.functions.get('code');
    if (code === undefined) return;
    new CfnOutput(this, 'CodeFunctionName', {
      value: code.lambda.functionName,
      description: 'The function whose variables a worker is told: aws lambda get-function-configuration',
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
