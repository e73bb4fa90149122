/** What the worker runs nodes with: production's reach, and what a project has laid down for its nodes. */
import { secretSetting } from '../../lib/api/schemas/secret-setting.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { queryName } from '../../lib/engine/ids.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { attemptsBy, createRunners } from '../../lib/nodes/runners.ts';
import type { Deps } from '../../lib/service/deps.ts';
import type { RunAttempt } from '../../lib/service/graph.ts';
import { KeptSecrets } from '../../lib/service/kept-secrets.ts';
import { ProjectQueries } from '../../lib/service/project-queries.ts';
import { ProjectSecrets } from '../../lib/service/project-secrets.ts';
import { storedSetting } from '../settings-wiring.ts';
import { databaseWorldOf } from './database-wiring.ts';
import { lensWorldOf } from './lens-wiring.ts';

export const attemptsOf = (deps: Pick<Deps, 'clock' | 'queries' | 'lenses'>): RunAttempt => {
  const secrets = projectSecrets(deps);
  const queries = new ProjectQueries(deps);
  return attemptsBy(createRunners({ lens: lensWorldOf(deps), databases: databaseWorldOf() }), {
    secret: (scope, name) => secrets().of(scope, name),
    query: (scope, name, version) => queries.of(scope, queryName(name), version),
  });
};

/** Made when the first node asks for one: most never do. */
function projectSecrets({ clock }: Pick<Deps, 'clock'>): () => ProjectSecrets {
  let made: ProjectSecrets | undefined;
  const list = storedSetting('secrets', secretSetting);
  return () => (made ??= new ProjectSecrets(new KeptSecrets(new ManagedSecrets(secretsClient()), clock), list));
}
