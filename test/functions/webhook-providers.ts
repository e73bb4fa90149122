/** Providers of webhooks as a configuration has them, and what they send. */
import { createHmac } from 'node:crypto';
import { webhookProviders } from '../../lib/webhooks/provider.ts';
import type { CallOptions } from './http.ts';

const arnOf = (name: string): string => `arn:aws:secretsmanager:eu-west-1:111122223333:secret:${name}-AbCdEf`;
const common = { projectId: 'acme', environment: 'test' };

export const hooksArn = arnOf('hooks');
export const emptyArn = arnOf('empty');
export const hooksSecret = 'a secret of GitHub';

export const testProviders = webhookProviders.parse({
  git: { ...common, scheme: 'github', secretArn: hooksArn, target: { workflowName: 'flow' } },
  jobs: { ...common, scheme: 'github', secretArn: hooksArn, target: { resume: { runIdPath: '/job/runId' } } },
  paid: {
    ...common,
    scheme: 'github',
    secretArn: hooksArn,
    target: { signal: { name: 'paid', correlationPath: '/order/id' } },
  },
  empty: { ...common, scheme: 'github', secretArn: emptyArn, target: { workflowName: 'flow' } },
});

/** A delivery as GitHub signs it. */
export const delivery = (
  body: string,
  {
    id = 'd-1',
    secret = hooksSecret,
    contentType = 'application/json',
  }: { id?: string; secret?: string; contentType?: string } = {},
): CallOptions => ({
  text: body,
  headers: {
    'X-Hub-Signature-256': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'X-GitHub-Delivery': id,
    'X-GitHub-Event': 'push',
    'Content-Type': contentType,
  },
});
