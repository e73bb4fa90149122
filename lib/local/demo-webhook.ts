/** A webhook provider for trials on this machine: it signs as GitHub does and starts the workflow `on-webhook`. */
import { randomBytes } from 'node:crypto';
import { arns } from './aws-environment.ts';
import type { SecretStore } from './secret-store.ts';

const secretArn = arns.secret('stepwell-demo-webhook');

/** In the format of the setting `webhooks`. */
export const demoProviders = {
  demo: {
    scheme: 'github',
    secretArn,
    projectId: 'default',
    environment: 'local',
    target: { workflowName: 'on-webhook' },
  },
} as const;

/** The provider's signing secret. It is created at the first start and stored. */
export function demoSecret(secrets: SecretStore): string {
  const existing = secrets.read(secretArn);
  if (existing !== undefined) return existing.text;
  const text = randomBytes(24).toString('hex');
  secrets.write(secretArn, { text, version: 'demo', createdAt: Date.now() });
  return text;
}
