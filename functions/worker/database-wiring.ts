/** What the worker's queries ask by the Data API: the databases that the stacks told it of. */
import { databaseSetting } from '../../lib/api/schemas/database-setting.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import type { DatabaseWorld } from '../../lib/nodes/data-query/aurora.ts';
import type { Databases } from '../../lib/ports/databases.ts';
import { namedFor } from '../../lib/service/named-for.ts';

/** Nothing of it is read or loaded before a query needs it. */
export function databaseWorldOf(): DatabaseWorld {
  let list: ReturnType<typeof databaseSetting.parse> | undefined;
  let service: Promise<Databases> | undefined;
  return {
    placeOf: (scope, name) =>
      namedFor((list ??= databaseSetting.parse(JSON.parse(settingsFrom(process.env).databases))), scope, name),
    service: () => (service ??= import('../../lib/aws/data-api.ts').then(({ DataApi }) => new DataApi())),
  };
}
