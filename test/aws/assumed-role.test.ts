/** Credentials of the code role: their lifetime, and the variables that the code receives. */
import { STSClient } from '@aws-sdk/client-sts';
import { expect, test } from 'vitest';
import { AssumedRole } from '../../lib/aws/assumed-role.ts';
import { deploymentId } from '../../lib/engine/ids.ts';
import { instant, minutes } from '../../lib/engine/time.ts';
import { MemoryClock } from '../../lib/memory/clock.ts';
import { Unavailable } from '../../lib/ports/unavailable.ts';

const one = deploymentId('one');
const roleArn = 'arn:aws:iam::111122223333:role/authors';

/** A fake client that records its requests. */
function given(own: Readonly<Record<string, string>> = {}, failures: (Error | object)[] = []) {
  const clock = new MemoryClock(instant(Date.parse('2026-01-01T00:00:00Z')));
  const client = new STSClient({ region: 'us-east-1', credentials: { accessKeyId: 'x', secretAccessKey: 'x' } });
  const requests: unknown[] = [];
  client.middlewareStack.add(
    () =>
      async ({ input }) => {
        const failure = failures.shift();
        if (failure instanceof Error) throw failure;
        requests.push(input);
        const Expiration = new Date(clock.now() + minutes(60));
        const Credentials = { AccessKeyId: `key ${requests.length}`, SecretAccessKey: 's', SessionToken: 't', Expiration };
        return { response: {}, output: { $metadata: {}, ...(failure ?? { Credentials }) } };
      },
    { step: 'initialize', priority: 'high' },
  );
  return { clock, requests, role: new AssumedRole(client, roleArn, clock, own) };
}

test('each deployment has its own session, with enough remaining time for a message', async () => {
  const { clock, requests, role } = given();
  expect((await role.variables(one))['AWS_ACCESS_KEY_ID']).toBe('key 1');
  expect((await role.variables(deploymentId('two')))['AWS_ACCESS_KEY_ID']).toBe('key 2');
  clock.advance(minutes(35));
  expect((await role.variables(one))['AWS_ACCESS_KEY_ID']).toBe('key 1');
  clock.advance(minutes(1));
  expect((await role.variables(one))['AWS_ACCESS_KEY_ID']).toBe('key 3');
  expect(requests[0]).toEqual({ RoleArn: roleArn, RoleSessionName: 'deployment-one', DurationSeconds: 3_600 });
  expect(requests[1]).toMatchObject({ RoleSessionName: 'deployment-two' });
});

test('a long session name is truncated', async () => {
  const { requests, role } = given();
  await role.variables(deploymentId('d'.repeat(128)));
  expect(requests).toEqual([expect.objectContaining({ RoleSessionName: `deployment-${'d'.repeat(53)}` })]);
});

test('the code receives the AWS configuration and its own credentials, not those of the function', async () => {
  const { role } = given({
    AWS_REGION: 'eu-west-1',
    AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:2',
    AWS_ACCESS_KEY_ID: 'of the function',
    AWS_SECRET_ACCESS_KEY: 'of the function',
    AWS_SESSION_TOKEN: 'of the function',
    AWS_CONTAINER_AUTHORIZATION_TOKEN: 'of the function',
    AWS_LAMBDA_RUNTIME_API: '127.0.0.1:9001',
    STEPWELL_RUNS_TABLE: 'runs',
  });
  expect(await role.variables(one)).toEqual({
    AWS_REGION: 'eu-west-1',
    AWS_ENDPOINT_URL: 'http://127.0.0.1:1',
    AWS_ENDPOINT_URL_S3: 'http://127.0.0.1:2',
    AWS_ACCESS_KEY_ID: 'key 1',
    AWS_SECRET_ACCESS_KEY: 's',
    AWS_SESSION_TOKEN: 't',
    AWS_CREDENTIAL_EXPIRATION: '2026-01-01T01:00:00.000Z',
  });
});

test('a failed or empty response of STS is Unavailable, and the next call requests again', async () => {
  const { role } = given({}, [new Error('socket hang up'), {}]);
  await expect(role.variables(one)).rejects.toThrow(Unavailable);
  await expect(role.variables(one)).rejects.toThrow(Unavailable);
  expect((await role.variables(one))['AWS_ACCESS_KEY_ID']).toBe('key 2');
});
