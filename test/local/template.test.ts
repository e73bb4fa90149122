import { describe, expect, test } from 'vitest';
import { readTemplate } from '../../lib/local/template/template.ts';
import { endpoint, stacksOf, templateOf } from './stacks.ts';

const table = { Type: 'AWS::DynamoDB::Table', Properties: {} };

describe('a template', () => {
  test('names resources as CloudFormation would, and gives them ARNs of the local account', () => {
    const [runs, queue, bucket] = templateOf({
      Runs: table,
      Jobs: { Type: 'AWS::SQS::Queue', Properties: { FifoQueue: true } },
      Files: { Type: 'AWS::S3::Bucket' },
    }).all;
    expect(runs).toMatchObject({
      name: 'App-Runs',
      ref: 'App-Runs',
      arn: 'arn:aws:dynamodb:us-east-1:000000000000:table/App-Runs',
    });
    expect(queue).toMatchObject({ name: 'App-Jobs.fifo', ref: `${endpoint}/000000000000/App-Jobs.fifo` });
    expect(bucket).toMatchObject({ name: 'app-files', arn: 'arn:aws:s3:::app-files' });
  });

  test('resolves another stack’s exports', () => {
    const template = readTemplate(
      stacksOf({
        Data: {
          Resources: { Runs: table },
          Outputs: {
            Out: { Value: { 'Fn::GetAtt': ['Runs', 'Arn'] }, Export: { Name: { 'Fn::Sub': '${AWS::StackName}:Runs' } } },
          },
        },
        App: {
          Resources: {
            Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: 'b', Description: { 'Fn::ImportValue': 'Data:Runs' } } },
          },
        },
      }),
      endpoint,
    );
    expect(template.of('AWS::Events::EventBus')[0]?.properties['Description']).toBe(
      'arn:aws:dynamodb:us-east-1:000000000000:table/Data-Runs',
    );
  });

  test('omits a resource whose condition is false', () => {
    const template = templateOf(
      { Runs: { ...table, Condition: 'Never' }, Control: { ...table, Condition: 'Always' } },
      { Conditions: { Never: { 'Fn::Equals': ['a', 'b'] }, Always: { 'Fn::Not': [{ Condition: 'Never' }] } } },
    );
    expect(template.all.map(({ logicalId }) => logicalId)).toEqual(['Control']);
  });

  test('names every unknown type', () => {
    expect(() => templateOf({ A: { Type: 'AWS::ECS::Cluster' }, B: { Type: 'AWS::EC2::Thing' } })).toThrow(
      'AWS::ECS::Cluster (App/A), AWS::EC2::Thing (App/B)',
    );
  });

  test('counts resources without local behaviour, and resolves references to them', () => {
    const template = templateOf({
      Log: { Type: 'AWS::Logs::LogGroup', Properties: { LogGroupName: 'l' } },
      Bus: { Type: 'AWS::Events::EventBus', Properties: { Name: { Ref: 'Log' } } },
    });
    expect(template.ignored.get('AWS::Logs::LogGroup')).toBe(1);
    expect(template.all).toMatchObject([{ name: 'l' }]);
  });
});
