/** `doctor --aws` with the responses of AWS for a small and for a normal account. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
// Imported before the tests: the AWS SDK sets a global when it is loaded.
import '../../lib/cli/actions/doctor-account.ts';
import { isSignatureValid } from '../../lib/local/aws/signature.ts';
import { dataIn, errorIn, createFolder, createTestCli } from './test-cli.ts';

/** Responses as AWS documents them: Lambda GetAccountSettings, API Gateway GetAccount, Service Quotas ListServiceQuotas. */
const answersOf = (concurrency: number, more: { unreserved?: number; rate?: number; logRole?: boolean } = {}) => ({
  lambda: {
    AccountLimit: {
      TotalCodeSize: 80_530_636_800,
      CodeSizeUnzipped: 262_144_000,
      CodeSizeZipped: 52_428_800,
      ConcurrentExecutions: concurrency,
      UnreservedConcurrentExecutions: more.unreserved ?? concurrency,
    },
    AccountUsage: { TotalCodeSize: 9_000, FunctionCount: 3 },
  },
  apigateway: {
    apiKeyVersion: '4',
    ...(more.logRole === true ? { cloudwatchRoleArn: 'arn:aws:iam::111122223333:role/logs' } : {}),
    features: ['UsagePlans'],
    throttleSettings: { burstLimit: (more.rate ?? 10_000) / 2, rateLimit: more.rate ?? 10_000 },
  },
  servicequotas: {
    first: { Quotas: [{ ServiceCode: 'scheduler', QuotaName: 'Schedule groups', Value: 500 }], NextToken: 'next' },
    next: { Quotas: [{ ServiceCode: 'scheduler', QuotaName: 'Number of schedules', Value: 10_000_000 }] },
  },
});
const small = answersOf(10);
const normal = answersOf(1_000);

const now = Date.UTC(2026, 10, 23, 12);
const secret = 'wJalrXUtnFEMI';

const shape = z.strictObject({
  checks: z.array(z.strictObject({ name: z.string(), result: z.enum(['ok', 'warn', 'fail']), message: z.string() })),
});

beforeEach(() => {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'operator');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', secret);
  vi.stubEnv('AWS_REGION', 'eu-west-1');
});
afterEach(() => vi.unstubAllEnvs());

const bodyOf = ({ body }: RequestInit): string => z.string().default('').parse(body);

interface SentRequest {
  readonly url: string;
  readonly init: RequestInit;
}

function account(answers: ReturnType<typeof answersOf> | number, context: Readonly<Record<string, unknown>> = {}) {
  const requests: SentRequest[] = [];
  const cwd = createFolder();
  const ownSettings = Object.fromEntries(Object.entries(context).map(([name, value]) => [`stepwell:${name}`, value]));
  writeFileSync(join(cwd, 'cdk.json'), JSON.stringify({ context: { ...ownSettings, '@aws-cdk/core:something': true } }));
  const { type } = createTestCli({
    cwd,
    env: { HOME: cwd },
    now: () => now,
    fetch: async (url, init = {}) => {
      requests.push({ url, init });
      if (typeof answers === 'number') return new Response('{"message":"not authorized"}', { status: answers });
      const { host } = new URL(url);
      if (host.startsWith('lambda.')) return Response.json(answers.lambda);
      if (host.startsWith('apigateway.')) return Response.json(answers.apigateway);
      return Response.json(bodyOf(init).includes('NextToken') ? answers.servicequotas.next : answers.servicequotas.first);
    },
  });
  return { type, requests };
}

async function runDoctor(
  answers: ReturnType<typeof answersOf>,
  context: Readonly<Record<string, unknown>> = {},
  ...options: readonly string[]
) {
  const { type, requests } = account(answers, context);
  const printed = await type('doctor', '--aws', '--json', ...options);
  const { checks } = dataIn(printed, shape);
  return { exitCode: printed.exitCode, requests, of: (name: string) => checks.find((check) => check.name === name), checks };
}

test('a normal account passes with the default settings', async () => {
  const { exitCode, checks } = await runDoctor(normal);
  expect(checks.map(({ name, result }) => [name, result])).toEqual(
    ['region', 'concurrency', 'reservation', 'api gateway', 'log role', 'schedules'].map((name) => [name, 'ok']),
  );
  expect(exitCode).toBe(0);
});

describe('a small account', () => {
  test('fails with the default settings, and the message names the settings to change', async () => {
    const { exitCode, of } = await runDoctor(small);
    expect(of('concurrency')).toMatchObject({
      result: 'fail',
      message: expect.stringMatching(/10 concurrent.*364.*preset to small.*L-B99A9384/),
    });
    expect(exitCode).toBe(1);
  });

  test.each([
    ['in cdk.json', { preset: 'small' }, []],
    ['tried out', {}, ['--preset', 'small']],
  ])('passes with the preset and a warning: %s', async (_where, context, options) => {
    const { exitCode, of } = await runDoctor(small, context, ...options);
    expect(of('concurrency')).toMatchObject({ result: 'warn', message: expect.stringContaining('the minimum') });
    expect(exitCode).toBe(2);
  });

  test('cannot reserve concurrency', async () => {
    const { exitCode, of } = await runDoctor(small, { preset: 'small', reservesWatchers: 'true' });
    expect(of('reservation')).toMatchObject({ result: 'fail', message: expect.stringMatching(/rolls back.*reservesWatchers/) });
    expect(exitCode).toBe(1);
  });
});

describe('a reservation', () => {
  test.each([
    [answersOf(150), 'ok'],
    [answersOf(149), 'fail'],
    // The reservation exists already, by this installation or by others; the check cannot distinguish them.
    [answersOf(150, { unreserved: 100 }), 'warn'],
  ])('%#: must leave 100 unreserved', async (answers, result) => {
    expect((await runDoctor(answers, { reservesWatchers: true })).of('reservation')?.result).toBe(result);
  });
});

test('a stage limit above the account limit is a warning', async () => {
  const { of } = await runDoctor(answersOf(1_000, { rate: 2_500 }), { requestsPerSecond: '5000' });
  expect(of('api gateway')).toMatchObject({
    result: 'warn',
    message: expect.stringMatching(/2500 requests a second.*requestsPerSecond \(5000\) and requestBurst \(2000\)/),
  });
});

test('a missing log role fails, unless the deployment sets it', async () => {
  const ownSettings = { setsAccountLogRole: false };
  expect((await runDoctor(normal, ownSettings)).of('log role')).toMatchObject({
    result: 'fail',
    message: expect.stringContaining('setsAccountLogRole'),
  });
  expect((await runDoctor(answersOf(1_000, { logRole: true }), ownSettings)).of('log role')?.result).toBe('ok');
});

test('every request is signed for the given region', async () => {
  const { requests } = await runDoctor(normal, {}, '--region', 'ap-south-1');
  expect(requests.map(({ url }) => url)).toEqual([
    'https://lambda.ap-south-1.amazonaws.com/2016-08-19/account-settings',
    'https://apigateway.ap-south-1.amazonaws.com/account',
    'https://servicequotas.ap-south-1.amazonaws.com/',
    'https://servicequotas.ap-south-1.amazonaws.com/',
  ]);
  for (const { url, init } of requests) {
    const headers = Object.fromEntries(new Headers(init.headers));
    const [, scope = '', signed = '', signature = ''] =
      /Credential=operator\/(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/.exec(headers['authorization'] ?? '') ?? [];
    const { pathname, searchParams: query } = new URL(url);
    const request = { method: init.method ?? '', url: pathname, query, headers, body: Buffer.from(bodyOf(init)) };
    const signedParts = { scope, date: headers['x-amz-date'] ?? '', signedHeaders: signed.split(';') };
    expect(isSignatureValid(request, signedParts, signature, secret), url).toBe(true);
    expect(isSignatureValid(request, signedParts, signature, 'another'), url).toBe(false);
  }
});

test('without credentials it fails and sends nothing', async () => {
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) vi.stubEnv(name, undefined);
  for (const file of ['AWS_CONFIG_FILE', 'AWS_SHARED_CREDENTIALS_FILE']) vi.stubEnv(file, join(createFolder(), 'none'));
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  const { type, requests } = account(normal);
  const printed = await type('doctor', '--aws', '--json');
  expect([printed.exitCode, errorIn(printed)]).toEqual([
    1,
    expect.objectContaining({
      code: 'aws_not_configured',
      message: expect.stringMatching(/^No AWS credentials or no region: .*AWS_PROFILE/),
    }),
  ]);
  expect(requests).toEqual([]);
});

test('a refusal of AWS is reported', async () => {
  const printed = await account(403).type('doctor', '--aws', '--json');
  expect([printed.exitCode, errorIn(printed)]).toEqual([
    1,
    expect.objectContaining({ code: 'aws', message: expect.stringMatching(/lambda answered 403.*not authorized/) }),
  ]);
  const unreachable = createTestCli({ cwd: createFolder(), fetch: () => Promise.reject(new TypeError('fetch failed')) });
  expect((await unreachable.type('doctor', '--aws', '--json')).exitCode).toBe(4);
});

test('--region and --preset require --aws', async () => {
  expect((await account(normal).type('doctor', '--region', 'eu-west-1')).exitCode).toBe(3);
});
