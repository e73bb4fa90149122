/** What the worker's queries ask by the Data API: the databases of the configuration. */
import { databaseSetting } from '../../lib/api/schemas/database-setting.ts';
import type { DatabaseWorld } from '../../lib/nodes/data-query/aurora.ts';
import type { Databases } from '../../lib/ports/databases.ts';
import { namedFor } from '../../lib/service/named-for.ts';
import { storedSetting } from '../settings-wiring.ts';

/** Nothing of it is read or loaded before a query needs it. */
export function databaseWorldOf(): DatabaseWorld {
  const list = storedSetting('databases', databaseSetting);
  let service: Promise<Databases> | undefined;
  return {
    placeOf: async (scope, name) => namedFor(await list(), scope, name),
    service: () => (service ??= import('../../lib/aws/data-api.ts').then(({ DataApi }) => new DataApi())),
  };
}
