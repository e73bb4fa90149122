/** Wires the worker's nodes to the internet, to databases and to the secrets and queries of a project. */
import { secretSetting } from '../../lib/api/schemas/project-settings.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { once } from '../../lib/base/lazy.ts';
import { queryName } from '../../lib/engine/ids.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { ProjectSecrets } from '../../lib/service/access/project-secrets.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { ProjectQueries } from '../../lib/service/definitions/project-queries.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { storedSetting } from '../settings-wiring.ts';
import { lensPortsOf } from './lens-wiring.ts';
import { configuredAccess, databasePortsOf } from './network-wiring.ts';

export const createRunAttempt = (deps: Pick<Deps, 'clock' | 'queries' | 'lenses'>): RunAttempt => {
  const secrets = projectSecrets(deps);
  const queries = new ProjectQueries(deps);
  return createAttemptRunner(
    createRunners({ lens: lensPortsOf(deps), databases: databasePortsOf(), networkAccess: configuredAccess() }),
    {
      secret: (scope, name) => secrets().of(scope, name),
      query: (scope, name, version) => queries.of(scope, queryName(name), version),
    },
  );
};

/** Created when the first node needs a secret: most nodes need none. */
function projectSecrets({ clock }: Pick<Deps, 'clock'>): () => ProjectSecrets {
  const list = storedSetting('secrets', secretSetting);
  return once(() => new ProjectSecrets(new SecretCache(new ManagedSecrets(secretsClient()), clock), list));
}
