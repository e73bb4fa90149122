/** Triggers in the template: `startOn` of the construct, and the setting `triggers`. */
import { App, Duration, Stack } from 'aws-cdk-lib';
import { Annotations, Match, Template } from 'aws-cdk-lib/assertions';
import * as events from 'aws-cdk-lib/aws-events';
import * as kms from 'aws-cdk-lib/aws-kms';
import * as s3 from 'aws-cdk-lib/aws-s3';
import * as sqs from 'aws-cdk-lib/aws-sqs';
import { AwsSolutionsChecks } from 'cdk-nag';
import { describe, expect, test } from 'vitest';
import * as z from 'zod';
import { Stepwell, type StepwellProps } from '../../lib/constructs/stepwell.ts';
import { parseSettings } from '../../lib/stacks/settings.ts';
import { findingText } from '../../lib/constructs/statements.ts';
import { triggerAlarmEntries } from '../../lib/constructs/alarms.ts';
import { deployedSettings } from '../../lib/api/schemas/installation.ts';
import { storedTriggers } from '../../lib/triggers/setting.ts';
import { emptyBundles, newFolder, stacksWith, synthesize } from './synthesized.ts';

type Use = (stack: Stack, stepwell: Stepwell) => void;

function appWith(use: Use, props: StepwellProps = {}) {
  const app = new App({ outdir: newFolder(), builtinCloudFormationValidation: false });
  const stack = new Stack(app, 'App', { env: { account: '111122223333', region: 'eu-west-1' } });
  const stepwell = new Stepwell(stack, 'Stepwell', { functionsDirectory: emptyBundles(), ...props });
  use(stack, stepwell);
  return { app, stack, stepwell };
}

function templateWith(use: Use, props: StepwellProps = {}) {
  const { stack, stepwell } = appWith(use, props);
  return { stack, stepwell, template: Template.fromStack(stack) };
}

const settingsShape = z.array(z.object({ name: z.string(), text: z.string() }));

/** The stored setting of this name. A value of the deployment is the text of its expression. */
function storedIn(template: Template, name: string): unknown {
  const [resource] = Object.values(template.findResources('Custom::StepwellKeys'));
  const settings = settingsShape.parse(JSON.parse(joined(resource?.['Properties']['Settings'])));
  return JSON.parse(settings.find((one) => one.name === name)?.text ?? 'null');
}

const joined = (value: unknown): string => {
  if (typeof value === 'string') return value;
  const parts = z.object({ 'Fn::Join': z.tuple([z.literal(''), z.array(z.unknown())]) }).parse(value)['Fn::Join'][1];
  return parts
    .map((part) => (typeof part === 'string' ? part : `https://${findingText(part).replaceAll(/[^\w.]/g, '')}`))
    .join('');
};

const withDeadLetters = (stack: Stack, id = 'Orders', props: sqs.QueueProps = {}) => {
  const deadLetters = new sqs.Queue(stack, `${id}Dead`, props.fifo === true ? { fifo: true } : {});
  return new sqs.Queue(stack, id, { ...props, deadLetterQueue: { queue: deadLetters, maxReceiveCount: 5 } });
};

const grantsOfStarts = (template: Template): string =>
  JSON.stringify(Object.entries(template.findResources('AWS::IAM::Policy')).filter(([id]) => id.includes('FunctionsStarts')));

describe('a queue of the app', () => {
  const { template } = templateWith((stack, stepwell) => {
    stepwell.startOn('orders', withDeadLetters(stack), {
      workflowName: 'ship',
      input: { order: '{{ctx.body.order}}' },
      maxConcurrency: 3,
    });
  });

  test('is the event source of the function, with reports of single messages', () => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 10,
      EventSourceArn: { 'Fn::GetAtt': [Match.stringLikeRegexp('^Orders'), 'Arn'] },
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 3 },
    });
  });

  test('is written for the function with its dead-letter queue, its receives, and the scope of the first key', () => {
    expect(storedTriggers.parse(storedIn(template, 'triggers'))).toMatchObject([
      {
        name: 'orders',
        kind: 'queue',
        maxReceives: 5,
        projectId: 'default',
        environment: 'production',
        workflowName: 'ship',
        input: { order: '{{ctx.body.order}}' },
      },
    ]);
    expect(deployedSettings.parse(storedIn(template, 'deployed')).triggers).toEqual({ default: { production: ['orders'] } });
  });

  test('gives the function rights on this queue and on its dead-letter queue, and on no other', () => {
    const grants = grantsOfStarts(template);
    expect(grants).toMatch(
      /sqs:ReceiveMessage"\],"Condition":\{[^}]*\}\},"Effect":"Allow","Resource":\{"Fn::GetAtt":\["Orders(?!Dead)/,
    );
    expect(grants).toMatch(/"sqs:SendMessage","Effect":"Allow","Resource":\{"Fn::GetAtt":\["OrdersDead/);
    expect(grants).not.toMatch(/secretsmanager|bedrock|rds-data/);
  });

  test('is deployed after the setting is stored', () => {
    const [fn] = Object.entries(template.findResources('AWS::Lambda::Function')).filter(([id]) => id.includes('FunctionsStarts'));
    expect([fn?.[1]['DependsOn']].flat().join()).toContain('StepwellFirstKeyKeys');
  });

  test('has an alarm of its own for each entry', () => {
    for (const { name, ofFunction } of triggerAlarmEntries)
      expect(Object.keys(template.findResources('AWS::CloudWatch::Alarm')).join()).toContain(
        ofFunction === true ? name : `${name}orders`,
      );
  });

  test('with a key of its own can be read', () => {
    const { template: encrypted } = templateWith((stack, stepwell) => {
      const key = new kms.Key(stack, 'QueueKey');
      stepwell.startOn('orders', withDeadLetters(stack, 'Orders', { encryptionMasterKey: key }), { workflowName: 'ship' });
    });
    expect(grantsOfStarts(encrypted)).toMatch(/kms:Decrypt.*QueueKey/s);
  });

  test.each<[string, Use, RegExp]>([
    [
      'without a dead-letter queue',
      (stack, stepwell) => void stepwell.startOn('orders', new sqs.Queue(stack, 'Plain'), { workflowName: 'ship' }),
      /^trigger_without_dead_letters: .* pass deadLetterQueue/,
    ],
    [
      'that is imported, without one',
      (stack, stepwell) =>
        void stepwell.startOn('orders', sqs.Queue.fromQueueArn(stack, 'Imported', 'arn:aws:sqs:eu-west-1:111122223333:q'), {
          workflowName: 'ship',
        }),
      /^trigger_without_dead_letters/,
    ],
    [
      'of FIFO with a standard dead-letter queue',
      (stack, stepwell) =>
        void stepwell.startOn('orders', new sqs.Queue(stack, 'Fifo', { fifo: true }), {
          workflowName: 'ship',
          deadLetterQueue: new sqs.Queue(stack, 'Standard'),
        }),
      /^trigger_dead_letters_differ/,
    ],
    [
      'whose visibility timeout is below that of the function',
      (stack, stepwell) =>
        void stepwell.startOn('orders', withDeadLetters(stack, 'Short', { visibilityTimeout: Duration.seconds(10) }), {
          workflowName: 'ship',
        }),
      /^trigger_visibility_too_short: .* 10 s/,
    ],
    [
      'with a name that is taken',
      (stack, stepwell) => {
        stepwell.startOn('orders', withDeadLetters(stack), { workflowName: 'ship' });
        stepwell.startOn('orders', withDeadLetters(stack, 'Other'), { workflowName: 'ship' });
      },
      /^trigger_name_taken/,
    ],
    [
      'with an invalid name',
      (stack, stepwell) => void stepwell.startOn('my orders', withDeadLetters(stack), { workflowName: 'ship' }),
      /^trigger_name_invalid/,
    ],
    [
      'with an invalid workflow name',
      (stack, stepwell) => void stepwell.startOn('orders', withDeadLetters(stack), { workflowName: 'a b' }),
      /^trigger_invalid: the trigger orders:\n.*the name of a workflow/s,
    ],
    [
      'with a name that a queue does not have',
      (stack, stepwell) =>
        void stepwell.startOn('orders', withDeadLetters(stack), { workflowName: 'ship', input: { a: ['{{ctx.event.id}}'] } }),
      /^trigger_template_invalid: .*\/input\/a\/0: there is no ctx.event: .*ctx.body and ctx.message/,
    ],
    [
      'with a secret',
      (stack, stepwell) =>
        void stepwell.startOn('orders', withDeadLetters(stack), { workflowName: 'ship', input: '{{secret:token}}' }),
      /^trigger_template_invalid: .*a trigger has no secrets/,
    ],
    [
      'with a template that is none',
      (stack, stepwell) =>
        void stepwell.startOn('orders', withDeadLetters(stack), { workflowName: 'ship', idempotencyKey: '{{body.id}}' }),
      /^trigger_template_invalid: .*\/idempotencyKey: a path begins with ctx/,
    ],
  ])('%s is refused', (_what, use, message) => {
    expect(() => appWith(use)).toThrow(message);
  });
});

describe('a rule', () => {
  test('sends to a queue of the trigger, and what EventBridge cannot deliver to its dead-letter queue', () => {
    const { template } = templateWith((stack, stepwell) => {
      const rule = new events.Rule(stack, 'Placed', { eventPattern: { source: ['shop'], detailType: ['Order Placed'] } });
      stepwell.startOn('placed', rule, { workflowName: 'ship', input: '{{ctx.event.detail}}' });
    });
    const ref = (part: string) => ({ 'Fn::GetAtt': [Match.stringLikeRegexp(part), 'Arn'] });
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: { source: ['shop'], 'detail-type': ['Order Placed'] },
      Targets: [
        Match.objectLike({ Arn: ref('TriggersplacedQueue'), DeadLetterConfig: { Arn: ref('TriggersplacedDeadLetters') } }),
      ],
    });
    template.hasResourceProperties('AWS::SQS::QueuePolicy', {
      PolicyDocument: {
        Statement: Match.arrayWith([
          Match.objectLike({
            Principal: { Service: 'events.amazonaws.com' },
            Condition: { ArnEquals: { 'aws:SourceArn': ref('Placed') } },
          }),
        ]),
      },
    });
    expect(storedTriggers.parse(storedIn(template, 'triggers'))).toMatchObject([{ kind: 'event', maxReceives: 20 }]);
  });

  const onBus = (stack: Stack, stepwell: Stepwell, id: string, workflows?: readonly string[]) =>
    new events.Rule(stack, id, {
      eventBus: stepwell.eventBus,
      eventPattern: {
        source: ['stepwell.runs'],
        detailType: ['Run Status Change'],
        detail: { status: ['completed'], ...(workflows === undefined ? {} : { workflow: { name: [...workflows] } }) },
      },
    });

  test('on the bus of the installation makes it publish the ends that the rule receives', () => {
    const { template } = templateWith((stack, stepwell) => {
      stepwell.startOn('after', onBus(stack, stepwell, 'After', ['order']), { workflowName: 'ship' });
    });
    expect(JSON.stringify(template.toJSON())).toContain('"STEPWELL_RUN_EVENTS":"ended"');
  });

  test.each<[string, Use, string[]]>([
    [
      'receives the end of each workflow',
      (stack, stepwell) => void stepwell.startOn('after', onBus(stack, stepwell, 'After'), { workflowName: 'ship' }),
      ['after'],
    ],
    [
      'receives the end of the workflow that it starts',
      (stack, stepwell) =>
        void stepwell.startOn('after', onBus(stack, stepwell, 'After', ['order', 'ship']), { workflowName: 'ship' }),
      ['after'],
    ],
    [
      'starts a workflow whose end another one receives',
      (stack, stepwell) => {
        stepwell.startOn('one', onBus(stack, stepwell, 'One', ['a']), { workflowName: 'b' });
        stepwell.startOn('two', onBus(stack, stepwell, 'Two', ['b']), { workflowName: 'a' });
      },
      ['one', 'two'],
    ],
    [
      'gets its pattern later',
      (stack, stepwell) => {
        const rule = new events.Rule(stack, 'Late', { eventBus: stepwell.eventBus });
        stepwell.startOn('late', rule, { workflowName: 'ship' });
        rule.addEventPattern({ source: ['stepwell.runs'] });
      },
      ['late'],
    ],
  ])('that %s is refused: runs would start each other without end', (_what, use, names) => {
    const { app } = appWith(use);
    for (const name of names) expect(() => app.synth()).toThrow(`trigger_loops: the trigger ${name} starts`);
  });

  test.each<[string, Use]>([
    [
      'in a chain that ends',
      (stack, stepwell) => {
        stepwell.startOn('one', onBus(stack, stepwell, 'One', ['a']), { workflowName: 'b' });
        stepwell.startOn('two', onBus(stack, stepwell, 'Two', ['b']), { workflowName: 'c' });
      },
    ],
    [
      'of other events of the bus',
      (stack, stepwell) => {
        const rule = new events.Rule(stack, 'Deployed', {
          eventBus: stepwell.eventBus,
          eventPattern: { source: ['stepwell.deployments'] },
        });
        stepwell.startOn('deployed', rule, { workflowName: 'check' });
      },
    ],
    [
      'of all events of another bus',
      (stack, stepwell) => {
        const rule = new events.Rule(stack, 'All', { eventPattern: { account: ['111122223333'] } });
        stepwell.startOn('all', rule, { workflowName: 'check' });
      },
    ],
  ])('%s is accepted', (_what, use) => {
    const { app } = appWith(use);
    expect(() => app.synth()).not.toThrow();
  });
});

describe('a bucket', () => {
  test.each([
    [{}, undefined],
    [{ prefix: 'in/' }, [{ prefix: 'in/' }]],
    [{ suffix: '.csv' }, [{ suffix: '.csv' }]],
    [{ prefix: 'in*/', suffix: '.csv' }, [{ wildcard: String.raw`in\*/*.csv` }]],
  ])('with %j is a rule on its objects', (keys, key) => {
    const { template } = templateWith((stack, stepwell) => {
      stepwell.startOn('uploads', new s3.Bucket(stack, 'Uploads'), { workflowName: 'import', ...keys });
    });
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: {
        source: ['aws.s3'],
        'detail-type': ['Object Created'],
        detail: {
          bucket: { name: [{ Ref: Match.stringLikeRegexp('^Uploads') }] },
          ...(key === undefined ? { object: Match.absent() } : { object: { key } }),
        },
      },
    });
    template.hasResourceProperties('Custom::S3BucketNotifications', {
      NotificationConfiguration: { EventBridgeConfiguration: {} },
    });
    expect(storedTriggers.parse(storedIn(template, 'triggers'))).toMatchObject([{ kind: 'object' }]);
  });

  test('of Stepwell itself is refused', () => {
    expect(() =>
      appWith((_stack, stepwell) => void stepwell.startOn('own', stepwell.storage.bucket, { workflowName: 'import' })),
    ).toThrow(/^trigger_loops: the trigger own watches the bucket of Stepwell/);
  });
});

describe('the setting triggers', () => {
  const triggers = {
    orders: { on: { queue: {} }, workflowName: 'ship', projectId: 'shop', environment: 'live' },
    lines: { on: { queue: { fifo: true } }, workflowName: 'ship' },
    mine: {
      on: { queue: { arn: 'arn:aws:sqs:eu-west-1:111122223333:mine', deadLetterArn: 'arn:aws:sqs:eu-west-1:111122223333:dead' } },
      workflowName: 'ship',
    },
    placed: {
      on: { event: { pattern: { 'detail-type': ['Order Placed'], $or: [{ source: ['a'] }, { source: [{ prefix: 'b' }] }] } } },
      workflowName: 'ship',
    },
    ended: {
      on: { event: { bus: 'stepwell', pattern: { detail: { status: ['failed'], workflow: { name: ['ship'] } } } } },
      workflowName: 'repair',
    },
    uploads: { on: { bucket: { name: 'my-uploads', prefix: 'in/' } }, workflowName: 'import' },
  };

  test('makes the same resources, and the outputs name the created queues', () => {
    const { runtime } = stacksWith({ triggers: JSON.stringify(triggers) });
    const template = Template.fromStack(runtime);
    const stored = storedTriggers.parse(storedIn(template, 'triggers'));
    expect(stored.map(({ name, kind }) => [name, kind])).toEqual([
      ['orders', 'queue'],
      ['lines', 'queue'],
      ['mine', 'queue'],
      ['placed', 'event'],
      ['ended', 'event'],
      ['uploads', 'object'],
    ]);
    expect(stored[0]).toMatchObject({ projectId: 'shop', environment: 'live', maxReceives: 20 });
    expect(stored[2]).toMatchObject({ queueArn: triggers.mine.on.queue.arn });
    expect(stored[2]?.maxReceives).toBeUndefined();
    template.hasResourceProperties('AWS::Events::Rule', { EventPattern: triggers.placed.on.event.pattern });
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: triggers.ended.on.event.pattern,
      EventBusName: { Ref: Match.stringLikeRegexp('StepwellEventBus') },
    });
    template.hasResourceProperties('AWS::Events::Rule', {
      EventPattern: Match.objectLike({ detail: { bucket: { name: ['my-uploads'] }, object: { key: [{ prefix: 'in/' }] } } }),
    });
    expect(Object.keys(template.findOutputs('*')).filter((id) => id.startsWith('Trigger'))).toEqual([
      'TriggerordersQueueUrl',
      'TriggerlinesQueueUrl',
    ]);
  });

  test('passes the rules of cdk-nag', () => {
    const { runtime } = stacksWith({ triggers: JSON.stringify(triggers) });
    expect(new AwsSolutionsChecks().validateScope(runtime).violations).toEqual([]);
    Annotations.fromStack(runtime).hasNoError('*', Match.anyValue());
  });

  test('is not there by default', () => {
    const { runtime } = synthesize();
    expect(runtime.filter(({ id }) => id.includes('StepwellTriggers'))).toEqual([]);
  });

  const settingOf =
    (trigger: unknown, name = 'orders') =>
    () =>
      parseSettings({ 'stepwell:triggers': JSON.stringify({ [name]: trigger }) });
  test.each([
    ['no source', settingOf({ on: {}, workflowName: 'ship' }), /must have one of queue, event, bucket/],
    ['two sources', settingOf({ on: { queue: {}, bucket: { name: 'abc' } }, workflowName: 'ship' }), /must have one of/],
    [
      'a queue of the account without its dead-letter queue',
      settingOf({ on: { queue: { arn: 'arn:aws:sqs:eu-west-1:111122223333:q' } }, workflowName: 'ship' }),
      /needs the deadLetterArn/,
    ],
    [
      'the ARN of something else',
      settingOf({ on: { queue: { arn: 'arn:aws:sns:eu-west-1:1:q' } }, workflowName: 'ship' }),
      /ARN of sqs/,
    ],
    ['an unknown key', settingOf({ on: { queue: {} }, workflowName: 'ship', retries: 3 }), /retries/],
    ['too little concurrency', settingOf({ on: { queue: {} }, workflowName: 'ship', maxConcurrency: 1 }), /maxConcurrency/],
    ['a bad name', settingOf({ on: { queue: {} }, workflowName: 'ship' }, '1 order'), /triggers/],
  ])('with %s is refused', (_what, parse, message) => {
    expect(parse).toThrow(message);
  });
});
