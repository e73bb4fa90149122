import { App, Stack, Validations } from 'aws-cdk-lib';
import * as ec2 from 'aws-cdk-lib/aws-ec2';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import * as s3 from 'aws-cdk-lib/aws-s3';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { Stepwell } from '../../lib/constructs/stepwell.ts';
import { addCheckedStacks } from '../../lib/stacks/checked-stacks.ts';
import { cdkContext, emptyBundles, newFolder, stacksWith } from './synthesized.ts';

const findingsIn = (app: App) => new AwsSolutionsChecks().validateScope(app).violations.map(({ ruleName }) => ruleName);

/** The stacks as bin/stepwell.ts creates them. */
const checkedStacks = (settings?: Readonly<Record<string, unknown>>) => stacksWith(settings, emptyBundles(), addCheckedStacks);

const everySetting = {
  account: '111122223333',
  region: 'eu-west-1',
  encryptionKey: 'own',
  nodeQueue: 'standard',
  watchers: 'uncapped',
  domain: {
    name: 'flows.example.com',
    certificateArn: 'arn:aws:acm:eu-west-1:111122223333:certificate/one',
    hostedZone: { id: 'Z0000000000000', name: 'example.com' },
  },
  webAclArn: 'arn:aws:wafv2:eu-west-1:111122223333:regional/webacl/one/two',
  alarmTopicArn: 'arn:aws:sns:eu-west-1:111122223333:on-call',
  setsAccountLogRole: false,
  metrics: true,
  corsOrigins: ['https://app.example.com'],
  traces: {
    endpoint: 'https://collector.example.com/v1/traces',
    header: {
      name: 'authorization',
      secretArn: 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:collector-AbCdEf',
    },
  },
};

test('the stacks pass the AWS Solutions rules, and every exception has a reason', () => {
  const { app } = checkedStacks();
  expect(findingsIn(app)).toEqual([]);
  expect(() => app.synth()).not.toThrow();
  const reasons = app.node
    .findAll()
    .flatMap(({ node }) => node.metadata.filter(({ type }) => type === Validations.ACKNOWLEDGED_RULES_METADATA_KEY))
    .flatMap(({ data }) => Object.entries(z.record(z.string(), z.string()).parse(data)));
  expect(reasons.length).toBeGreaterThan(10);
  for (const [rule, reason] of reasons) expect(reason.length, rule).toBeGreaterThan(30);
});

test('they pass with every setting in use', () => {
  const { app } = checkedStacks(everySetting);
  expect(findingsIn(app)).toEqual([]);
  expect(() => app.synth()).not.toThrow();
});

test('the construct in another stack and VPC passes the rules', () => {
  const app = new App({ outdir: newFolder(), context: cdkContext, builtinCloudFormationValidation: false });
  const stack = new Stack(app, 'Own');
  const vpc = ec2.Vpc.fromVpcAttributes(stack, 'Vpc', {
    vpcId: 'vpc-1',
    availabilityZones: ['a', 'b'],
    privateSubnetIds: ['subnet-1', 'subnet-2'],
  });
  new Stepwell(stack, 'Stepwell', { functionsDirectory: emptyBundles(), network: { vpc } });
  expect(
    new AwsSolutionsChecks().validateScope(stack.node.findChild('Stepwell')).violations.map(({ ruleName }) => ruleName),
  ).toEqual([]);
});

test('a bucket without the TLS rule fails the synthesis', () => {
  const { app } = checkedStacks();
  new s3.Bucket(new Stack(app, 'Planted'), 'Bucket');
  expect(findingsIn(app)).toEqual(['AwsSolutions-S1', 'AwsSolutions-S10']);
  expect(() => app.synth()).toThrow(/AwsSolutions-S10/);
});

test('a wildcard grant that is added to a role fails the synthesis', () => {
  const { app, runtime } = checkedStacks();
  const worker = runtime.stepwell.functions.get('worker');
  worker?.role.addToPolicy(new PolicyStatement({ actions: ['s3:*'], resources: ['*'] }));
  expect(findingsIn(app)).toEqual(['AwsSolutions-IAM5[Action::s3:*]', 'AwsSolutions-IAM5[Resource::*]']);
});
