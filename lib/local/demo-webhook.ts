/** A provider of webhooks for trying them out on this machine: it signs as GitHub does, and starts the workflow `on-webhook`. */
import { randomBytes } from 'node:crypto';
import { arns } from './aws-environment.ts';
import type { SecretStore } from './secret-store.ts';

const secretArn = arns.secret('stepwell-demo-webhook');

/** In the form of the setting `webhooks`. */
export const demoProviders = {
  demo: {
    scheme: 'github',
    secretArn,
    projectId: 'default',
    environment: 'local',
    target: { workflowName: 'on-webhook' },
  },
} as const;

/** The secret that the provider signs with: made at the first start, and kept. */
export function demoSecret(secrets: SecretStore): string {
  const existing = secrets.read(secretArn);
  if (existing !== undefined) return existing.text;
  const text = randomBytes(24).toString('hex');
  secrets.write(secretArn, { text, version: 'demo', createdAt: Date.now() });
  return text;
}
