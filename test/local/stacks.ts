/** Small templates and bundles for tests, written by hand. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseTemplate, type Assembly } from '../../lib/local/template/assembly.ts';
import { readTemplate, type Template } from '../../lib/local/template/template.ts';

export const freshFolder = (): string => mkdtempSync(join(tmpdir(), 'stepwell-local-'));

/** Stacks by name, each with the sections of a template. */
export const stacksOf = (stacks: Readonly<Record<string, object>>): Pick<Assembly, 'stacks'> => ({
  stacks: Object.entries(stacks).map(([name, template]) => ({ name, template: parseTemplate(template) })),
});

export const endpoint = 'http://127.0.0.1:9';

export const templateOf = (Resources: object, more: object = {}): Template =>
  readTemplate(stacksOf({ App: { Resources, ...more } }), endpoint);

/** An assembly whose functions have these sources, by `S3Key`. */
export function assemblyOf(stacks: Readonly<Record<string, object>>, sources: Readonly<Record<string, string>>): Assembly {
  const folder = freshFolder();
  for (const [hash, source] of Object.entries(sources)) {
    mkdirSync(join(folder, hash), { recursive: true });
    writeFileSync(join(folder, hash, 'index.mjs'), source);
  }
  return { ...stacksOf(stacks), assetPath: (hash) => (hash in sources ? join(folder, hash) : undefined) };
}

const role = (name: string, statements: readonly object[]) => ({
  Type: 'AWS::IAM::Role',
  Properties: {
    RoleName: name,
    AssumeRolePolicyDocument: {},
    Policies: [{ PolicyName: 'p', PolicyDocument: { Statement: statements } }],
  },
});

/** A function with its own role; `more` are further properties. */
export const functionOf = (name: string, asset: string, statements: readonly object[], more: object = {}) => ({
  [`${name}Role`]: role(`${name}-role`, statements),
  [name]: {
    Type: 'AWS::Lambda::Function',
    Properties: {
      FunctionName: name,
      Code: { S3Bucket: 'assets', S3Key: `${asset}.zip` },
      Handler: 'index.handler',
      Runtime: 'nodejs24.x',
      Role: { 'Fn::GetAtt': [`${name}Role`, 'Arn'] },
      ...more,
    },
  },
});

export const allow = (Action: string | readonly string[], Resource: unknown, more: object = {}) => ({
  Effect: 'Allow',
  Action,
  Resource,
  ...more,
});

/** A REST API with methods by path, such as `GET /v1/runs/{runId}`, each handled by the function with that logical id. */
export function restApi(methods: Readonly<Record<string, string>>, streaming: readonly string[] = []): Record<string, object> {
  const resources: Record<string, object> = {
    Api: { Type: 'AWS::ApiGateway::RestApi', Properties: { Name: 'api' } },
    Stage: { Type: 'AWS::ApiGateway::Stage', Properties: { StageName: 'prod', RestApiId: { Ref: 'Api' } } },
  };
  const idOf = (path: string): string => `Path${Buffer.from(path).toString('hex')}`;
  for (const [key, functionId] of Object.entries(methods)) {
    const [HttpMethod = '', path = '/'] = key.split(' ');
    const parts = path.split('/').filter((part) => part !== '');
    parts.forEach((PathPart, at) => {
      const parent = parts.slice(0, at).join('/');
      resources[idOf(parts.slice(0, at + 1).join('/'))] = {
        Type: 'AWS::ApiGateway::Resource',
        Properties: {
          PathPart,
          RestApiId: { Ref: 'Api' },
          ParentId: at === 0 ? { 'Fn::GetAtt': ['Api', 'RootResourceId'] } : { Ref: idOf(parent) },
        },
      };
    });
    const streams = streaming.includes(key);
    const operation = streams ? 'response-streaming-invocations' : 'invocations';
    resources[`Method${Buffer.from(key).toString('hex')}`] = {
      Type: 'AWS::ApiGateway::Method',
      Properties: {
        HttpMethod,
        AuthorizationType: 'NONE',
        RestApiId: { Ref: 'Api' },
        ResourceId: parts.length === 0 ? { 'Fn::GetAtt': ['Api', 'RootResourceId'] } : { Ref: idOf(parts.join('/')) },
        Integration: {
          Type: 'AWS_PROXY',
          IntegrationHttpMethod: 'POST',
          ...(streams ? { ResponseTransferMode: 'STREAM' } : {}),
          Uri: {
            'Fn::Sub': `arn:aws:apigateway:\${AWS::Region}:lambda:path/2015-03-31/functions/\${${functionId}.Arn}/${operation}`,
          },
        },
      },
    };
  }
  return resources;
}
