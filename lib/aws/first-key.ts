/** Reads the first admin key of an installation with the operator's credentials. */
import { ListSecretsCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { installationTag } from '../contract/environment.ts';
import { secretsClient } from './clients.ts';
import { callService } from './call-service.ts';
import { ManagedSecrets } from './secrets.ts';

export interface FirstKeyLocation {
  /** absent: the region of the operator's AWS configuration */
  readonly region?: string;
  readonly secret: { readonly arn: string } | { readonly stack: string };
}

export type FoundKey =
  | { readonly kind: 'found'; readonly arn: string; readonly text: string }
  /** no secret has the tag of that stack */
  | { readonly kind: 'no_secret' }
  /** the secret is empty: the runtime stack was never deployed */
  | { readonly kind: 'no_key'; readonly arn: string };

/** @throws the error of AWS, or Unavailable */
export async function findFirstKey({ region, secret }: FirstKeyLocation): Promise<FoundKey> {
  const client = secretsClient(region);
  try {
    const arn = 'arn' in secret ? secret.arn : await arnOf(client, secret.stack);
    if (arn === undefined) return { kind: 'no_secret' };
    const text = await new ManagedSecrets(client).value(arn);
    return text === undefined ? { kind: 'no_key', arn } : { kind: 'found', arn, text };
  } finally {
    client.destroy();
  }
}

/** Filters match prefixes too, so the results are compared exactly. */
async function arnOf(client: SecretsManagerClient, stack: string): Promise<string | undefined> {
  const Filters = [
    { Key: 'tag-key' as const, Values: [installationTag] },
    { Key: 'tag-value' as const, Values: [stack] },
  ];
  const { SecretList = [] } = await callService('the secrets', () => client.send(new ListSecretsCommand({ Filters })));
  return SecretList.find(({ Tags = [] }) => Tags.some(({ Key, Value }) => Key === installationTag && Value === stack))?.ARN;
}
