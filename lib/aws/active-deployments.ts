/** The pointer to a scope's active deployment in the control table. */
import { z } from 'zod';
import { deploymentId } from '../codec/ids.ts';
import { read } from '../codec/unreadable.ts';
import type { DeploymentId, Scope } from '../engine/ids.ts';
import type { ActiveDeployments } from '../ports/control.ts';
import { textAttribute } from './attributes.ts';
import { itemVersionAttribute } from './item-version.ts';
import { scopeKey } from './run-keys.ts';
import type { Key, Table } from './table.ts';

export const activePointerKey = (scope: Scope): Key => ({ pk: `${scopeKey(scope)}#deployments`, sk: 'active' });

const pointerItem = z.object({ v: itemVersionAttribute, deploymentId: textAttribute.pipe(deploymentId) });

export class DynamoActiveDeployments implements ActiveDeployments {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async active(scope: Scope): Promise<DeploymentId | undefined> {
    const item = await this.#table.get(activePointerKey(scope));
    return item && read('the active deployment', pointerItem, item).deploymentId;
  }
}
