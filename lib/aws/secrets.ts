/** Secrets in Secrets Manager. */
import {
  GetSecretValueCommand,
  PutSecretValueCommand,
  ResourceNotFoundException,
  type SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import type { Secrets } from '../ports/secrets.ts';
import { callService } from './call-service.ts';

export class ManagedSecrets implements Secrets {
  readonly #client: SecretsManagerClient;

  constructor(client: SecretsManagerClient) {
    this.#client = client;
  }

  async value(arn: string): Promise<string | undefined> {
    try {
      const response = await callService('the secrets', () => this.#client.send(new GetSecretValueCommand({ SecretId: arn })));
      return response.SecretString;
    } catch (error) {
      // The service reports a secret without a text like a missing one.
      if (error instanceof ResourceNotFoundException) return undefined;
      throw error;
    }
  }

  async setValue(arn: string, text: string, token: string): Promise<void> {
    const command = new PutSecretValueCommand({ SecretId: arn, SecretString: text, ClientRequestToken: token });
    await callService('the secrets', () => this.#client.send(command));
  }
}
