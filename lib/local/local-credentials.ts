/** The API key of a local installation, and the webhook provider for trials on this machine. */
import type { SecretStore } from './secret-store.ts';
import type { Template } from './template/template.ts';
import { randomBytes } from 'node:crypto';
import { arns } from './aws-environment.ts';

/** The name of the output in the stack. */
const output = 'FirstKeySecretArn';

export function localKey({ template, secrets }: { readonly template: Template; readonly secrets: SecretStore }): string {
  const arn = template.outputs.get(output);
  const secret = typeof arn === 'string' ? secrets.read(arn) : undefined;
  if (secret === undefined) throw new Error(`The template's output ${output} names no secret that contains a key`);
  return secret.text;
}

const secretArn = arns.secret('stepwell-demo-webhook');

/** Of the first key of a local installation (local-context.ts). */
export const localProject = { projectId: 'default', environment: 'local' } as const;

/** In the format of the setting `webhooks`. */
export const demoProviders = {
  demo: {
    scheme: 'github',
    secretArn,
    ...localProject,
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
