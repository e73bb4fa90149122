/** Where the keys are and where the secrets are. */
import { awsWorld } from '../../lib/aws/aws-world.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { storedSettings } from '../settings-wiring.ts';
import type { Keeper } from './keep-keys.ts';

export const keeperHere = (): Keeper => {
  const { keys, clock, index } = awsWorld(settingsFrom(process.env));
  return { keys, clock, index, secrets: new ManagedSecrets(secretsClient()), settings: storedSettings() };
};
