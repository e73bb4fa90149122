/** The code role in the embedded cloud: code calls AWS with the owner's permissions, and without the function's. */
import { execFile } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import * as z from 'zod';
import { arns } from '../../lib/local/aws-environment.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder, root } from './local-start.ts';

const [given, kept] = ['authors-own', 'not-granted'].map(arns.secret);

const code = `
import { GetSecretValueCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
import { defineWorkflow } from 'stepwell/sdk';
// Created once, as programs do: the client loads its credentials at the first call, and again when they expire.
const secrets = new SecretsManagerClient({ maxAttempts: 1 });
const said = (asking) => asking.then((answer) => answer.SecretString ?? 'done', (error) => error.name);
const read = (id) => said(secrets.send(new GetSecretValueCommand({ SecretId: id })));
export const asks = defineWorkflow({ name: 'asks' }, async ({ input, step }) => ({
  given: await step.run({ name: 'given' }, () => read(input.given)),
  kept: await step.run({ name: 'kept' }, () => read(input.kept)),
  runs: await step.run({ name: 'runs' }, () =>
    said(new DynamoDBClient({ maxAttempts: 1 }).send(new GetItemCommand({ TableName: input.table, Key: { pk: { S: 'a' }, sk: { S: 'b' } } }))),
  ),
  seen: await step.run({ name: 'seen' }, () => Object.keys(process.env).toSorted()),
}));
`;

let cloud: InProcessCloud;
let role: string;
beforeAll(async () => {
  const codePermissions = [{ actions: ['secretsmanager:GetSecretValue'], resources: [given] }];
  cloud = await startInProcessCloud({
    'stepwell:codePermissions': codePermissions,
    'stepwell:codeVariables': { GREETING: 'hello' },
  });
  for (const arn of [given, kept])
    cloud.cloud.secrets.write(arn ?? '', { text: `text of ${arn}`, version: 'v'.repeat(32), createdAt: Date.now() });
  const roles = cloud.cloud.template.of('AWS::IAM::Role').filter(({ logicalId }) => logicalId.includes('DeploymentCode'));
  role = roles[0]?.arn ?? '';
});
/** The denials that were printed at the terminal; there are two. */
afterAll(() =>
  expect(cloud.stop()).rejects.toThrow(/^(AccessDenied: User: [^\n]*\/deployment-one is not authorized[^\n]*\n?){2}$/),
);

test('a step has the permissions of the role, and not those of the function', { timeout: 120_000 }, async () => {
  const folder = freshFolder();
  mkdirSync(join(folder, 'workflows'));
  writeFileSync(join(folder, 'stepwell.config.json'), '{}');
  writeFileSync(join(folder, 'workflows/asks.ts'), code);
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  const env = { ...process.env, HOME: freshFolder(), STEPWELL_URL: cloud.url, STEPWELL_API_KEY: cloud.apiKey };
  await promisify(execFile)(process.execPath, [join(root, 'bin/stepwell-cli.mjs'), 'deploy', '--deployment-id', 'one'], {
    cwd: folder,
    env,
  });
  const table = cloud.cloud.template.of('AWS::DynamoDB::GlobalTable', 'AWS::DynamoDB::Table')[0]?.name;
  const asked: string[] = [];
  cloud.cloud.recorder.listen(({ caller, service, operation }) => {
    if (['sts', 'secretsmanager'].includes(service)) asked.push(`${caller.replace(/.*-(\w+)$/, '$1')} ${operation}`);
  });
  const started = await cloud.call(
    'POST',
    '/v1/runs',
    { workflowName: 'asks', input: { given, kept, table } },
    { 'idempotency-key': 'k' },
  );
  const { runId } = z.looseObject({ runId: z.string() }).parse(started.body);
  const shape = z.looseObject({ status: z.string(), output: z.unknown().optional(), error: z.unknown().optional() });
  const look = async () => shape.parse((await cloud.call('GET', `/v1/runs/${runId}`)).body);
  await expect.poll(async () => (await look()).status, { timeout: 60_000 }).toBe('completed');
  expect((await look()).output).toEqual({
    given: `text of ${given}`,
    kept: 'AccessDeniedException',
    runs: 'AccessDeniedException',
    seen: expect.arrayContaining(['AWS_CREDENTIAL_EXPIRATION', 'AWS_SESSION_TOKEN', 'GREETING', 'STEPWELL_DEPLOYMENT_ID']),
  });
  const { seen } = z.looseObject({ seen: z.array(z.string()) }).parse((await look()).output);
  expect(seen.filter((name) => /^(STEPWELL|AWS_LAMBDA|LAMBDA|_)/.test(name))).toEqual(['STEPWELL_DEPLOYMENT_ID']);
  expect(role).toMatch(/:role\//);
  expect(asked).toEqual([expect.stringMatching(/ AssumeRole$/), 'one GetSecretValue']);
});
