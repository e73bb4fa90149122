/** Wires the worker's nodes to the internet, to databases and to the secrets and queries of a project. */
import { databaseSetting, secretSetting } from '../../lib/api/schemas/project-settings.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { once } from '../../lib/base/lazy.ts';
import { queryName } from '../../lib/engine/ids.ts';
import { createAttemptRunner } from '../../lib/nodes/attempt-runner.ts';
import type { DatabasePorts } from '../../lib/nodes/data-query/aurora.ts';
import { createRunners } from '../../lib/nodes/runners.ts';
import { findNamedValue } from '../../lib/service/access/find-named-value.ts';
import { ProjectSecrets } from '../../lib/service/access/project-secrets.ts';
import { SecretCache } from '../../lib/service/access/secret-cache.ts';
import type { RunAttempt } from '../../lib/service/commit/plans.ts';
import { ProjectQueries } from '../../lib/service/definitions/project-queries.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { storedSetting } from '../settings-wiring.ts';
import { lensPortsOf } from './lens-wiring.ts';

export const createRunAttempt = (deps: Pick<Deps, 'clock' | 'queries' | 'lenses'>): RunAttempt => {
  const secrets = projectSecrets(deps);
  const queries = new ProjectQueries(deps);
  return createAttemptRunner(createRunners({ lens: lensPortsOf(deps), databases: databasePortsOf() }), {
    secret: (scope, name) => secrets().of(scope, name),
    query: (scope, name, version) => queries.of(scope, queryName(name), version),
  });
};

/** Created when the first node needs a secret: most nodes need none. */
function projectSecrets({ clock }: Pick<Deps, 'clock'>): () => ProjectSecrets {
  const list = storedSetting('secrets', secretSetting);
  return once(() => new ProjectSecrets(new SecretCache(new ManagedSecrets(secretsClient()), clock), list));
}

/** The setting and the Data API client are loaded when the first query needs them. */
export function databasePortsOf(): DatabasePorts {
  const list = storedSetting('databases', databaseSetting);
  return {
    targetOf: async (scope, name) => findNamedValue(await list(), scope, name),
    service: once(() => import('../../lib/aws/data-api.ts').then(({ DataApi }) => new DataApi())),
  };
}
