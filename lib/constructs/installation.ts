/** What an application does with an installation: of this stack (`new Stepwell`) or of another one (`Stepwell.fromAttributes`). */
import { Duration } from 'aws-cdk-lib';
import * as cloudwatch from 'aws-cdk-lib/aws-cloudwatch';
import * as events from 'aws-cdk-lib/aws-events';
import type * as iam from 'aws-cdk-lib/aws-iam';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { BusReference } from './trigger-loops.ts';
import { installationDimension, metricNamespace, runsEnded, runsStarted } from '../contract/metrics.ts';

export type EndStatus = (typeof runsEnded.statuses)[number];

export interface RunEndedOptions {
  readonly target?: events.IRuleTarget;
  readonly description?: string;
  readonly ruleName?: string;
  /** Default: every status. */
  readonly statuses?: readonly EndStatus[];
  /** Names of workflows. Default: every workflow. */
  readonly workflows?: readonly string[];
}

/** What an application may do with a key. */
export const applicationScopes = {
  trigger: ['trigger:write', 'runs:read', 'payloads:read'],
  read: ['runs:read', 'payloads:read', 'workflows:read'],
} as const;
export type ApplicationKey = keyof typeof applicationScopes;

export interface IStepwell {
  /** Base URL of the HTTP API, for `STEPWELL_URL` of an application. */
  readonly apiUrl: string;
  /** URL of the start API, for `STEPWELL_START_URL` of an application. Empty without one: starts then use the base URL. */
  readonly startApiUrl: string;
  /** Status changes of runs and deployments. */
  readonly eventBus: BusReference;
  /** The secret with the key of applications that start runs, for `STEPWELL_API_KEY`. */
  readonly triggerKey: secretsmanager.ISecret;
  /** The secret with the key of applications that only read runs and workflows. */
  readonly readKey: secretsmanager.ISecret;
  /** Lets a role start runs and read their results: it may read `triggerKey`. */
  grantTrigger(grantee: iam.IGrantable): iam.Grant;
  /** Lets a role read runs and workflows: it may read `readKey`. */
  grantRead(grantee: iam.IGrantable): iam.Grant;
  /**
   * A rule on the end of runs. Delivery is at least once. It makes the installation of this app publish these ends (setting `runEvents`).
   * An installation of another app publishes failures only, unless its own settings ask for more.
   */
  onRunEnded(id: string, options?: RunEndedOptions): events.Rule;
  /** A metric of the installation. The setting `metrics` turns the metrics of runs and nodes on. */
  metric(metricName: string, props?: cloudwatch.MetricOptions): cloudwatch.Metric;
  /** Runs that started. Default: the sum over five minutes. */
  metricRunsStarted(props?: cloudwatch.MetricOptions): cloudwatch.Metric;
  /** Runs that ended with this status. Default: the sum over five minutes. */
  metricRunsEnded(status: EndStatus, props?: cloudwatch.MetricOptions): cloudwatch.Metric;
}

const total: cloudwatch.MetricOptions = { statistic: 'Sum', period: Duration.minutes(5) };

export abstract class Installation extends Construct implements IStepwell {
  abstract readonly apiUrl: string;
  abstract readonly startApiUrl: string;
  abstract readonly eventBus: BusReference;
  abstract readonly triggerKey: secretsmanager.ISecret;
  abstract readonly readKey: secretsmanager.ISecret;
  /** the value of the dimension that identifies the installation */
  protected abstract readonly runsTableName: string;

  /**
   * Makes the installation publish these ends of runs.
   * @throws if its settings say otherwise
   */
  protected abstract publishEnds(receiver: string, statuses: readonly EndStatus[]): void;

  grantTrigger(grantee: iam.IGrantable): iam.Grant {
    return this.triggerKey.grantRead(grantee);
  }

  grantRead(grantee: iam.IGrantable): iam.Grant {
    return this.readKey.grantRead(grantee);
  }

  onRunEnded(id: string, { statuses = runsEnded.statuses, workflows, ...options }: RunEndedOptions = {}): events.Rule {
    this.publishEnds(`the rule ${id} (onRunEnded)`, statuses);
    const rule = new events.Rule(this, id, {
      eventBus: this.eventBus,
      ...(options.description === undefined ? {} : { description: options.description }),
      ...(options.ruleName === undefined ? {} : { ruleName: options.ruleName }),
      eventPattern: {
        source: ['stepwell.runs'],
        detailType: ['Run Status Change'],
        detail: { status: [...statuses], ...(workflows === undefined ? {} : { workflow: { name: [...workflows] } }) },
      },
    });
    if (options.target !== undefined) rule.addTarget(options.target);
    return rule;
  }

  metric(metricName: string, props: cloudwatch.MetricOptions = {}): cloudwatch.Metric {
    return new cloudwatch.Metric({
      namespace: metricNamespace,
      metricName,
      ...total,
      ...props,
      dimensionsMap: { [installationDimension]: this.runsTableName, ...props.dimensionsMap },
    });
  }

  metricRunsStarted(props?: cloudwatch.MetricOptions): cloudwatch.Metric {
    return this.metric(runsStarted, props);
  }

  metricRunsEnded(status: EndStatus, props: cloudwatch.MetricOptions = {}): cloudwatch.Metric {
    return this.metric(runsEnded.metric, { ...props, dimensionsMap: { ...props.dimensionsMap, [runsEnded.dimension]: status } });
  }
}

export interface StepwellAttributes {
  /** the output `ApiUrl` of its stack */
  readonly apiUrl: string;
  /** the output `StartApiUrl` of its stack. Default: none */
  readonly startApiUrl?: string;
  /** the output `EventBusName` of its stack */
  readonly eventBusName: string;
  /** the name of its Runs table, for metrics */
  readonly runsTableName?: string;
  /** the complete ARN of the secret with the key for `grantTrigger` */
  readonly triggerKeySecretArn?: string;
  /** the complete ARN of the secret with the key for `grantRead` */
  readonly readKeySecretArn?: string;
}

/** An installation of another stack or app, by its attributes. */
export class ImportedStepwell extends Installation {
  readonly apiUrl: string;
  readonly startApiUrl: string;
  readonly eventBus: BusReference;
  readonly #attributes: StepwellAttributes;
  readonly #secrets = new Map<string, secretsmanager.ISecret>();

  constructor(scope: Construct, id: string, attributes: StepwellAttributes) {
    super(scope, id);
    this.#attributes = attributes;
    this.apiUrl = attributes.apiUrl;
    this.startApiUrl = attributes.startApiUrl ?? '';
    this.eventBus = events.EventBus.fromEventBusName(this, 'EventBus', attributes.eventBusName);
  }

  get triggerKey(): secretsmanager.ISecret {
    return this.#secretOf('triggerKeySecretArn');
  }

  get readKey(): secretsmanager.ISecret {
    return this.#secretOf('readKeySecretArn');
  }

  protected get runsTableName(): string {
    return this.#required('runsTableName');
  }

  /** Its settings belong to the app that deploys it. */
  protected publishEnds(): void {}

  #secretOf(attribute: 'triggerKeySecretArn' | 'readKeySecretArn'): secretsmanager.ISecret {
    const arn = this.#required(attribute);
    const secret = this.#secrets.get(attribute) ?? secretsmanager.Secret.fromSecretCompleteArn(this, attribute, arn);
    this.#secrets.set(attribute, secret);
    return secret;
  }

  #required(attribute: 'runsTableName' | 'triggerKeySecretArn' | 'readKeySecretArn'): string {
    const value = this.#attributes[attribute];
    if (value === undefined) throw new Error(`Stepwell.fromAttributes needs ${attribute} for this.`);
    return value;
  }
}
