/** What the worker's queries ask by the Data API: the databases of the configuration. */
import { databaseSetting } from '../../lib/api/schemas/database-setting.ts';
import type { DatabasePorts } from '../../lib/nodes/data-query/aurora.ts';
import type { Databases } from '../../lib/ports/databases.ts';
import { findNamedValue } from '../../lib/service/access/find-named-value.ts';
import { storedSetting } from '../settings-wiring.ts';

/** Nothing of it is read or loaded before a query needs it. */
export function databasePortsOf(): DatabasePorts {
  const list = storedSetting('databases', databaseSetting);
  let service: Promise<Databases> | undefined;
  return {
    targetOf: async (scope, name) => findNamedValue(await list(), scope, name),
    service: () => (service ??= import('../../lib/aws/data-api.ts').then(({ DataApi }) => new DataApi())),
  };
}
