/** Wires the first-key function to the key store and to Secrets Manager. */
import { awsPorts } from '../../lib/aws/aws-ports.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { storedSettings } from '../settings-wiring.ts';
import type { KeyProvisioningPorts } from './provision-keys.ts';

export const createProvisioningPorts = (): KeyProvisioningPorts => {
  const { keys, clock, index } = awsPorts(settingsFrom(process.env));
  return { keys, clock, index, secrets: new ManagedSecrets(secretsClient()), settings: storedSettings() };
};
