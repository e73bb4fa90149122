/** `keys bootstrap` reads the first admin key with the operator's AWS credentials. */
import { randomBytes } from 'node:crypto';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import * as z from 'zod';
import { newKey } from '../../lib/api/auth.ts';
import '../../lib/cli/actions/bootstrap-key.ts';
import { environment } from '../../lib/engine/ids.ts';
import { type Recorder, startRecorder } from '../contract/emulators/recorder.ts';
import { dataIn, errorIn, expectExit, createFolder, createTestCli } from './test-cli.ts';

const arn = 'arn:aws:secretsmanager:eu-west-1:111122223333:secret:StorageFirstKey-AbCdEf';
const { text: key, keyId } = newKey(environment('production'), randomBytes);
const bodyShape = z.looseObject({ SecretId: z.string().exactOptional(), Filters: z.array(z.unknown()).exactOptional() });

let recorder: Recorder;
let value: string | undefined;
beforeEach(async () => {
  value = key;
  recorder = await startRecorder(({ headers, body }) => {
    if (headers['x-amz-target'] === 'secretsmanager.ListSecrets') {
      const tagged = (stack: string, ARN: string) => ({ ARN, Tags: [{ Key: 'stepwell:stack', Value: stack }] });
      return { status: 200, body: { SecretList: [tagged('Stepwell-Data-2', 'arn:other'), tagged('Stepwell-Data', arn)] } };
    }
    const isKnown = bodyShape.parse(JSON.parse(body)).SecretId === arn;
    if (isKnown && value !== undefined) return { status: 200, body: { ARN: arn, SecretString: value } };
    return { status: 400, body: { __type: 'ResourceNotFoundException', message: 'no value' } };
  });
  vi.stubEnv('AWS_ENDPOINT_URL', recorder.endpoint);
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'operator');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_REGION', 'eu-west-1');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await recorder.close();
});

const sentRequests = () =>
  recorder.requests.map(({ headers, body }) => [headers['x-amz-target'], bodyShape.parse(JSON.parse(body))]);

describe('keys bootstrap', () => {
  test('prints only the key on stdout, and its id and environment on stderr', async () => {
    const printed = await createTestCli().type('keys', 'bootstrap', '--secret-arn', arn);
    expect([printed.exitCode, printed.out]).toEqual([0, `${key}\n`]);
    expect(printed.err).toContain(`Key ${keyId} of production`);
    expect(printed.err).not.toContain(key.slice(-12));
    expect(sentRequests()).toMatchObject([['secretsmanager.GetSecretValue', { SecretId: arn }]]);
  });

  test('finds the secret by its stack name, and ignores a stack with the same prefix', async () => {
    expect(dataIn(await createTestCli().type('--json', 'keys', 'bootstrap'), z.looseObject({ key: z.string() })).key).toBe(key);
    expect(sentRequests().map(([target]) => target)).toEqual(['secretsmanager.ListSecrets', 'secretsmanager.GetSecretValue']);
    const none = await createTestCli().type('--json', 'keys', 'bootstrap', '--stack', 'Stepwell');
    expect([none.exitCode, errorIn(none).code]).toEqual([1, 'no_secret']);
  });

  test('uses the region of --region', async () => {
    expectExit(await createTestCli().type('keys', 'bootstrap', '--secret-arn', arn, '--region', 'ap-south-1'), 0);
    expect(recorder.requests.at(-1)?.headers.authorization).toContain('/ap-south-1/secretsmanager/');
  });

  test('--save writes a private file for a profile and does not print the key', async () => {
    const home = createFolder();
    const here = createTestCli({ env: { HOME: home }, cwd: home });
    const printed = await here.type('keys', 'bootstrap', '--save', 'prod', '--url', 'https://flows.example.com/prod/');
    expectExit(printed, 0);
    expect(printed.out + printed.err).not.toContain(key.slice(-12));
    const file = join(home, '.config', 'stepwell', 'keys', 'prod');
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([`${key}\n`, 0o600]);
    const profiles: unknown = JSON.parse(readFileSync(join(home, '.config', 'stepwell', 'config.json'), 'utf8'));
    expect(profiles).toEqual({ profiles: { prod: { url: 'https://flows.example.com/prod', apiKeyFile: file } } });
    // Save again over a file that other users can read.
    writeFileSync(file, 'old', { mode: 0o644 });
    expectExit(await here.type('keys', 'bootstrap', '--save', 'prod'), 0);
    expect([readFileSync(file, 'utf8'), statSync(file).mode & 0o777]).toEqual([`${key}\n`, 0o600]);
  });

  test.each([
    ['a secret without a value', 'no_key', undefined],
    ['a secret that holds something else, which is not repeated', 'no_key', 'hunter2'],
  ])('%s fails the command', async (_what, code, text) => {
    value = text;
    const printed = await createTestCli().type('--json', 'keys', 'bootstrap', '--secret-arn', arn);
    expect([printed.exitCode, errorIn(printed).code]).toEqual([1, code]);
    expect(printed.out).not.toContain('hunter2');
  });

  test.each([
    [['--secret-arn', arn, '--stack', 'Stepwell-Data']],
    [['--secret-arn', 'StorageFirstKey']],
    [['--save', 'new']],
    [['--region', 'EU']],
  ])('%j is a usage error', async (args) => {
    const printed = await createTestCli().type('--json', 'keys', 'bootstrap', ...args);
    expect([printed.exitCode, errorIn(printed).code, recorder.requests.length]).toEqual([3, 'usage', 0]);
  });
});
