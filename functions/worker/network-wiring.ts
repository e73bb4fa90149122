/** Wires the worker's nodes to the network and to databases. */
import { databaseSetting } from '../../lib/api/schemas/project-settings.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { once } from '../../lib/base/lazy.ts';
import { networkAccessOf } from '../../lib/egress/private-destinations.ts';
import type { DatabasePorts } from '../../lib/nodes/data-query/aurora.ts';
import { findNamedValue } from '../../lib/service/access/find-named-value.ts';
import { storedSetting } from '../settings-wiring.ts';

/** The destinations that nodes and models may call. */
export const configuredAccess = once(() => networkAccessOf(settingsFrom(process.env).privateDestinations));

/** The setting and the Data API client are loaded when the first query needs them. */
export function databasePortsOf(): DatabasePorts {
  const list = storedSetting('databases', databaseSetting);
  return {
    targetOf: async (scope, name) => findNamedValue(await list(), scope, name),
    service: once(() => import('../../lib/aws/data-api.ts').then(({ DataApi }) => new DataApi())),
  };
}
