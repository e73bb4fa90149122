/** Large settings in the embedded cloud: the deployment stores them, functions read them, and no variable is too large. */
import { createHmac } from 'node:crypto';
import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { demoProviders } from '../../lib/local/local-credentials.ts';
import { arns } from '../../lib/local/aws-environment.ts';
import { type InProcessCloud, startInProcessCloud } from './in-process-cloud.ts';
import { freshFolder } from './local-start.ts';

const numbered = (of: (at: number) => unknown) =>
  Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`name-${at}`, of(at)]));
const many = {
  'stepwell:webhooks': {
    ...numbered((at) => ({ ...demoProviders.demo, secretArn: arns.secret(`hooks-${at}`) })),
    ...demoProviders,
  },
  'stepwell:secrets': { default: { '*': numbered((at) => arns.secret(`node-${at}`)) } },
  'stepwell:models': {
    default: { provider: 'deterministic' },
    ...numbered((at) => ({
      provider: 'openai',
      baseUrl: 'https://api.example.com/v1',
      model: `m-${at}`,
      secretArn: arns.secret(`model-${at}`),
    })),
  },
};

const runShape = z.looseObject({ status: z.string(), nodes: z.array(z.looseObject({ nodeId: z.string() })) });

/** The result of a request that uses this secret, in a run that a webhook started. */
async function runOfWebhook(cloud: InProcessCloud, secret: string): Promise<string> {
  const config = { url: 'https://unknown.invalid/', headers: { authorization: `{{secret:${secret}}}` }, retry: { attempts: 1 } };
  const nodes = [
    { id: 'start', type: 'start' },
    { id: 'ask', type: 'http', config: { ...config, errorHandling: 'fail_workflow' } },
  ];
  const workflow = { name: 'on-webhook', nodes, edges: [{ source: 'start', target: 'ask' }] };
  expect((await cloud.call('POST', '/v1/workflows', workflow)).status).toBe(201);
  const body = '{}';
  const { status, body: answer } = await cloud.call('POST', '/v1/webhooks/demo', body, {
    'x-hub-signature-256': `sha256=${createHmac('sha256', cloud.webhookSecret).update(body).digest('hex')}`,
    'x-github-delivery': crypto.randomUUID(),
  });
  expect(status, JSON.stringify(answer)).toBe(202);
  const { runId } = z.looseObject({ runId: z.string() }).parse(answer);
  const see = async () => JSON.stringify((await cloud.call('GET', `/v1/runs/${runId}?resolveData=all`)).body);
  await expect
    .poll(async () => runShape.parse(JSON.parse(await see())).status, { timeout: 60_000, interval: 100 })
    .not.toMatch(/pending|running/);
  return see();
}

test('200 webhooks, secrets and models start, and the functions read them', { timeout: 120_000 }, async () => {
  const cloud = await startInProcessCloud(many);
  try {
    const reads: unknown[] = [];
    cloud.cloud.recorder.listen(({ service, operation, input }) => {
      if (service === 'dynamodb' && operation === 'GetItem' && JSON.stringify(input).includes('setting#')) reads.push(input);
    });
    expect(await runOfWebhook(cloud, 'name-199')).toContain('secret_missing');
    // The webhook function reads its providers, the worker its secrets; other settings are read on demand.
    expect(reads).toHaveLength(2);
  } finally {
    await cloud.stop();
  }
});

test('a variable that is too large is refused with Lambda’s error', { timeout: 60_000 }, async () => {
  const oversized = async (assembly: string): Promise<string> => {
    const folder = join(freshFolder(), 'assembly');
    cpSync(assembly, folder, { recursive: true, dereference: true });
    for (const file of globSync('*-Runtime.template.json', { cwd: folder })) {
      const template: unknown = JSON.parse(readFileSync(join(folder, file), 'utf8'), (key, value: unknown) =>
        key === 'STEPWELL_SECRETS' ? '"'.repeat(1_800) : value,
      );
      writeFileSync(join(folder, file), JSON.stringify(template));
    }
    return folder;
  };
  await expect(startInProcessCloud(undefined, oversized)).rejects.toThrow(
    /StepwellFunctionsWorkerFunction\w+: Lambda was unable to configure your environment variables because the environment variables you have provided exceeded the 4KB limit\. String measured: \{"STEPWELL_RUNS_TABLE":/,
  );
});
