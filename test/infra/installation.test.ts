/** What an application does with the construct: grants, rules and metrics, on an installation of its stack or of another one. */
import { App, Stack } from 'aws-cdk-lib';
import * as iam from 'aws-cdk-lib/aws-iam';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import * as targets from 'aws-cdk-lib/aws-events-targets';
import { Template } from 'aws-cdk-lib/assertions';
import { AwsSolutionsChecks } from 'cdk-nag';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { type IStepwell, Stepwell, type StepwellProps } from '../../lib/constructs/index.ts';
import { emptyBundles } from './synthesized.ts';

const stackWith = (use: (stack: Stack, stepwell: Stepwell, role: iam.Role) => void, props: StepwellProps = {}) => {
  const app = new App({ builtinCloudFormationValidation: false });
  const stack = new Stack(app, 'Mine');
  const role = new iam.Role(stack, 'App', { assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com') });
  const stepwell = new Stepwell(stack, 'Stepwell', { functionsDirectory: emptyBundles(), ...props });
  use(stack, stepwell, role);
  return { stack, template: Template.fromStack(stack) };
};

const keysShape = z.object({ Properties: z.looseObject({ ApplicationKeys: z.unknown().optional() }) });
const keysIn = (template: Template) =>
  Object.values(template.findResources('Custom::StepwellKeys')).map(
    (resource) => keysShape.parse(resource).Properties.ApplicationKeys,
  );
const secretsIn = (template: Template): readonly string[] => Object.keys(template.findResources('AWS::SecretsManager::Secret'));

const grantsOf = (template: Template, role: string) =>
  Object.values(template.findResources('AWS::IAM::Policy'))
    .filter((policy) => JSON.stringify(policy['Properties']).includes(`{"Ref":"${role}`))
    .map((policy) => JSON.stringify(policy['Properties']));

test('a role that may start runs reads the secret of one key, which the deployment creates with two scopes', () => {
  const { template } = stackWith((_stack, stepwell, role) => {
    stepwell.grantTrigger(role);
    stepwell.grantTrigger(role);
  });
  const [keys] = keysIn(template);
  expect(JSON.stringify(keys)).toContain('trigger:write');
  expect(JSON.stringify(keys)).not.toMatch(/admin|workflows/);
  expect(secretsIn(template).filter((id) => id.includes('TriggerKey'))).toHaveLength(1);
  expect(grantsOf(template, 'App').join()).toMatch(/secretsmanager:GetSecretValue.*StepwellTriggerKey/);
  expect(grantsOf(template, 'App').join()).not.toMatch(/PutSecretValue|FirstKey|ReadKey/);
  expect(grantsOf(template, 'StepwellFunctionsFirstKey').join()).toMatch(/PutSecretValue.*StepwellTriggerKey/);
});

test('a role that may read gets another key', () => {
  const { template } = stackWith((_stack, stepwell, role) => void stepwell.grantRead(role));
  expect(JSON.stringify(keysIn(template))).toContain('workflows:read');
  expect(JSON.stringify(keysIn(template))).not.toContain('trigger:write');
});

test('without a grant there is no key, and the template is as before', () => {
  const { template } = stackWith(() => undefined);
  expect(keysIn(template)).toEqual([undefined]);
  expect(secretsIn(template).filter((id) => /TriggerKey|ReadKey/.test(id))).toEqual([]);
});

test('the rules of cdk-nag accept a grant', () => {
  const { stack } = stackWith((_stack, stepwell, role) => void stepwell.grantTrigger(role));
  const findings = new AwsSolutionsChecks().validateScope(stack).violations.map(({ ruleName }) => ruleName);
  expect(findings.filter((name) => name.includes('SMG4'))).toEqual([]);
});

const pattern = (detail: object) => ({
  EventPattern: { source: ['stepwell.runs'], 'detail-type': ['Run Status Change'], detail },
});

test('a rule on the end of runs selects statuses and workflows', () => {
  const { template } = stackWith((stack, stepwell) => {
    const queue = new sqs.Queue(stack, 'Failures');
    stepwell.onRunEnded('Failed', { statuses: ['failed'], workflows: ['report'], target: new targets.SqsQueue(queue) });
    stepwell.onRunEnded('Any');
  });
  template.hasResourceProperties('AWS::Events::Rule', pattern({ status: ['failed'], workflow: { name: ['report'] } }));
  template.hasResourceProperties('AWS::Events::Rule', pattern({ status: ['completed', 'failed', 'cancelled'] }));
});

/** The values of the setting in the functions, and in the console's settings. */
const runEventsIn = (template: Template): readonly unknown[] => {
  const text = JSON.stringify(template.toJSON());
  const found = [...text.matchAll(/"STEPWELL_RUN_EVENTS":"(\w+)"|runEvents\W+(\w+)/g)].map(([, told, shown]) => told ?? shown);
  expect(found.length).toBeGreaterThan(5);
  return [...new Set(found)];
};

test.each([
  ['no rule', undefined, {}, 'failed'],
  ['a rule on failures', ['failed'], {}, 'failed'],
  ['a rule on failures alone', ['failed'], { runEvents: 'failed' }, 'failed'],
  ['a rule on cancelled runs', ['cancelled'], {}, 'ended'],
  ['a rule on each end', ['completed', 'failed', 'cancelled'], {}, 'ended'],
  ['a rule beside a higher setting', ['completed'], { runEvents: 'all' }, 'all'],
] as const)('with %s the installation publishes what the rule receives', (_what, statuses, props, expected) => {
  const { template } = stackWith(
    (_stack, stepwell) => void (statuses === undefined ? undefined : stepwell.onRunEnded('Rule', { statuses })),
    props,
  );
  expect(runEventsIn(template)).toEqual([expected]);
});

test('a rule on ends that the setting runEvents excludes is refused, with what to do', () => {
  const ask = (runEvents: 'none' | 'failed', statuses: readonly ('completed' | 'failed')[]) =>
    stackWith((_stack, stepwell) => void stepwell.onRunEnded('Mine', { statuses }), { runEvents });
  expect(() => ask('failed', ['completed'])).toThrow(
    'run_events_too_few: the rule Mine (onRunEnded) receives runs that ended completed, but the setting runEvents is failed. Remove the setting, or set it to ended or all.',
  );
  expect(() => ask('none', ['failed'])).toThrow(/^run_events_too_few: .* or set it to failed or ended or all\.$/);
});

test('metrics are those of the installation', () => {
  const { stack } = stackWith(() => undefined);
  const stepwell = Stepwell.fromAttributes(stack, 'Other', {
    apiUrl: 'https://a.test',
    eventBusName: 'bus',
    runsTableName: 'runs',
  });
  expect(stepwell.metricRunsEnded('failed').toMetricConfig().metricStat).toMatchObject({
    namespace: 'Stepwell',
    metricName: 'RunsEnded',
    dimensions: [
      { name: 'RunsTable', value: 'runs' },
      { name: 'Status', value: 'failed' },
    ],
    statistic: 'Sum',
  });
  expect(stepwell.metricRunsStarted({ statistic: 'Average' }).toMetricConfig().metricStat).toMatchObject({
    metricName: 'RunsStarted',
    statistic: 'Average',
  });
});

test('an installation of another stack is used by its attributes, and says which one is missing', () => {
  const stack = new Stack(new App({ builtinCloudFormationValidation: false }), 'Mine');
  const role = new iam.Role(stack, 'App', { assumedBy: new iam.ServicePrincipal('lambda.amazonaws.com') });
  const triggerKeySecretArn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:TriggerKey-AbCdEf';
  const stepwell: IStepwell = Stepwell.fromAttributes(stack, 'Stepwell', {
    apiUrl: 'https://flows.example.com',
    eventBusName: 'stepwell-bus',
    triggerKeySecretArn,
  });
  stepwell.grantTrigger(role);
  stepwell.onRunEnded('Ended');
  const template = Template.fromStack(stack);
  expect(grantsOf(template, 'App').join()).toContain(triggerKeySecretArn);
  template.hasResourceProperties('AWS::Events::Rule', { EventBusName: 'stepwell-bus' });
  expect(() => stepwell.grantRead(role)).toThrow('Stepwell.fromAttributes needs readKeySecretArn for this.');
});
