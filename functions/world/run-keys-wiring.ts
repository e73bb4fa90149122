/** Wires the function of the World to the secret of the keys of runs. Nothing is read before the first key is asked for. */
import { secretsClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import type { Clock } from '../../lib/ports/clock.ts';
import type { RunKeySource } from '../../lib/service/kinds/devkit/run-keys.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';

/** Undefined: the setting is off. */
export function runKeysOf(clock: Pick<Clock, 'now'>): RunKeySource | undefined {
  const secretArn = settingsFrom(process.env).devKitSecretArn;
  return secretArn === undefined
    ? undefined
    : { secretArn, secrets: new SecretCache(new ManagedSecrets(secretsClient()), clock) };
}
