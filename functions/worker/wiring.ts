/** What the worker runs nodes with: production's reach, and what a project has laid down for its nodes. */
import { secretSetting } from '../../lib/api/schemas/secret-setting.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { queryName } from '../../lib/engine/ids.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { createAttemptRunner, createRunners } from '../../lib/nodes/runners.ts';
import type { Deps } from '../../lib/service/deps.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';
import { ProjectQueries } from '../../lib/service/definitions/project-queries.ts';
import { ProjectSecrets } from '../../lib/service/access/project-secrets.ts';
import { storedSetting } from '../settings-wiring.ts';
import { databasePortsOf } from './database-wiring.ts';
import { lensPortsOf } from './lens-wiring.ts';

export const createRunAttempt = (deps: Pick<Deps, 'clock' | 'queries' | 'lenses'>): RunAttempt => {
  const secrets = projectSecrets(deps);
  const queries = new ProjectQueries(deps);
  return createAttemptRunner(createRunners({ lens: lensPortsOf(deps), databases: databasePortsOf() }), {
    secret: (scope, name) => secrets().of(scope, name),
    query: (scope, name, version) => queries.of(scope, queryName(name), version),
  });
};

/** Made when the first node asks for one: most never do. */
function projectSecrets({ clock }: Pick<Deps, 'clock'>): () => ProjectSecrets {
  let cached: ProjectSecrets | undefined;
  const list = storedSetting('secrets', secretSetting);
  return () => (cached ??= new ProjectSecrets(new SecretCache(new ManagedSecrets(secretsClient()), clock), list));
}
