/** Secrets in memory, and in the embedded cloud's Secrets Manager through the real client. */
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { openGateway } from '../../lib/local/aws/gateway.ts';
import { createPrincipals } from '../../lib/local/aws/principals.ts';
import { secretsManager } from '../../lib/local/aws/secrets.ts';
import { arns } from '../../lib/local/aws-environment.ts';
import { parsePolicy } from '../../lib/local/policy/evaluate.ts';
import { createRecorder } from '../../lib/local/recorder.ts';
import { openSecretStore } from '../../lib/local/secret-store.ts';
import { MemorySecrets } from '../../lib/memory/secrets.ts';
import { secretsSuite } from './secrets.suite.ts';

const empty = [arns.secret('one'), arns.secret('other')] as const;
const unknownName = arns.secret('nobodys');

secretsSuite({
  name: 'memory',
  open: async () => {
    const secrets = new MemorySecrets();
    for (const arn of empty) secrets.create(arn);
    return { port: { secrets, empty, unknownName }, close: async () => {} };
  },
});

secretsSuite({
  name: 'Secrets Manager',
  open: async () => {
    const directory = mkdtempSync(join(tmpdir(), 'secrets-'));
    mkdirSync(join(directory, 'state'));
    const statements = parsePolicy({ Statement: { Effect: 'Allow', Action: 'secretsmanager:*', Resource: '*' } }, 'test');
    const principals = createPrincipals(new Map([['role', statements]]));
    const credentials = principals.createPrincipal('test', 'role');
    const gateway = await openGateway();
    const services = [secretsManager(openSecretStore(directory), new Set(empty))];
    gateway.mount({ principals, services, recorder: createRecorder(), warn: () => undefined });
    const client = new SecretsManagerClient({ endpoint: gateway.url, region: 'us-east-1', credentials, maxAttempts: 1 });
    return {
      port: { secrets: new ManagedSecrets(client), empty, unknownName },
      close: async () => {
        client.destroy();
        await gateway.close();
      },
    };
  },
});
