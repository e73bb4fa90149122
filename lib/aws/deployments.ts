/**
 * Deployments in the control table. Records are keyed by id. A list entry, keyed by creation time, is written before its
 * record, so that every existing deployment is listed. The active pointer is in the same partition.
 */
import * as z from 'zod';
import type { Makers } from '../base/lazy.ts';
import { storedManifest } from '../codec/deployment.ts';
import { runId as storedRunId, appName, deploymentId, instant, keyId } from '../codec/ids.ts';
import { partitionOf } from '../contract/record-kinds.ts';
import type { DeploymentId, RunId, Scope } from '../engine/ids.ts';
import type { Instant } from '../engine/time.ts';
import type {
  ActivePointer,
  Deployment,
  DeploymentPage,
  DeploymentPosition,
  Deployments,
  PinnedRun,
  DeploymentPorts,
} from '../ports/deployments.ts';
import { S3Artifacts } from './artifacts.ts';
import {
  number,
  text,
  type Item,
  anyNumber,
  anyInstant,
  stringOf,
  jsonOf,
  optional,
  nullable,
  itemSchema,
} from './item-schema.ts';
import type { Resources } from './resources.ts';
import { creationSort, scopeKey } from './run-keys.ts';
import { type Expression, type Key, type Table, firstOf, ifNotExists, ifExists } from './table.ts';

const partition = (scope: Scope): string => partitionOf('deployments', scopeKey(scope));
const recordKey = (scope: Scope, id: DeploymentId): Key => ({ pk: partition(scope), sk: `id#${id}` });
const pointerKey = (scope: Scope): Key => ({ pk: partition(scope), sk: 'active' });
const entryPrefix = 'at#';
const entrySort = ({ createdAt, deploymentId }: DeploymentPosition): string =>
  `${entryPrefix}${creationSort(createdAt, deploymentId)}`;
const pinPartition = (scope: Scope, id: DeploymentId): string => partitionOf('pin', scopeKey(scope), id);
const pinPrefix = 'run#';
const pinKey = (scope: Scope, id: DeploymentId, runId: RunId): Key => ({
  pk: pinPartition(scope, id),
  sk: `${pinPrefix}${runId}`,
});

/** A tombstone has no manifest. */
const hasManifest: Expression = { expression: 'attribute_exists(manifest)' };

export class DynamoDeployments implements Deployments {
  readonly #table: Table;

  constructor(table: Table) {
    this.#table = table;
  }

  async create(scope: Scope, deployment: Deployment): Promise<'stored' | 'occupied'> {
    const position = { createdAt: deployment.createdAt, deploymentId: deployment.manifest.deploymentId };
    await this.#table.put({ pk: partition(scope), sk: entrySort(position) }, entryItem.encode(position));
    const put = await this.#table.put(recordKey(scope, position.deploymentId), deploymentItem.encode(deployment), ifNotExists);
    return put.kind === 'stored' ? 'stored' : 'occupied';
  }

  async deployment(scope: Scope, id: DeploymentId): Promise<Deployment | undefined> {
    const item = await this.#table.get(recordKey(scope, id));
    return item && deploymentIn(item);
  }

  async list(
    scope: Scope,
    { limit, after }: { readonly limit: number; readonly after?: DeploymentPosition },
  ): Promise<DeploymentPage> {
    const items = this.#table.query({
      ConsistentRead: true,
      ScanIndexForward: false,
      KeyConditionExpression: 'pk = :pk AND sk BETWEEN :first AND :last',
      ExpressionAttributeValues: {
        ':pk': text(partition(scope)),
        ':first': text(entryPrefix),
        ':last': text(after === undefined ? `${entryPrefix}~` : entrySort(after)),
      },
    });
    // BETWEEN is inclusive, so the entry of the cursor is filtered out.
    const found = (await firstOf(items, limit + 2))
      .map(entryItem.decode)
      .filter((entry) => after === undefined || entrySort(entry) !== entrySort(after));
    const entries = found.slice(0, limit);
    const read = await Promise.all(
      entries.map(async (entry) => ({ entry, deployment: await this.deployment(scope, entry.deploymentId) })),
    );
    // Skip entries whose deployment was not written, was removed, or was created by another request.
    const deployments = read.flatMap(({ entry, deployment }) => (deployment?.createdAt === entry.createdAt ? [deployment] : []));
    const last = entries.at(-1);
    return found.length <= limit || last === undefined ? { deployments } : { deployments, next: last };
  }

  markVerified(scope: Scope, id: DeploymentId, at: Instant): Promise<void> {
    return this.#updateExisting(scope, id, { expression: 'SET verifiedAt = :at', values: { ':at': number(at) } });
  }

  markActivated(scope: Scope, id: DeploymentId, at: Instant): Promise<void> {
    return this.#updateExisting(scope, id, { expression: 'SET activatedAt = :at', values: { ':at': number(at) } });
  }

  setRemoving(scope: Scope, id: DeploymentId, since: Instant | null): Promise<void> {
    const set = (at: Instant): Expression => ({ expression: 'SET removingSince = :at', values: { ':at': number(at) } });
    return this.#updateExisting(scope, id, since === null ? { expression: 'REMOVE removingSince' } : set(since));
  }

  async #updateExisting(scope: Scope, id: DeploymentId, change: Expression): Promise<void> {
    await this.#table.update(recordKey(scope, id), change, hasManifest);
  }

  async remove(scope: Scope, id: DeploymentId, at: Instant): Promise<void> {
    const existing = await this.deployment(scope, id);
    if (existing === undefined) return;
    await this.#table.put(recordKey(scope, id), tombstoneItem.encode({ removedAt: at }), hasManifest);
    const entry = { pk: partition(scope), sk: entrySort({ createdAt: existing.createdAt, deploymentId: id }) };
    await this.#table.delete(entry, ifExists);
  }

  async pointer(scope: Scope): Promise<ActivePointer | undefined> {
    const item = await this.#table.get(pointerKey(scope));
    return item && pointerItem.decode(item);
  }

  async movePointer(scope: Scope, from: number, pointer: ActivePointer): Promise<boolean> {
    const attributes = pointerItem.encode(pointer);
    if (from === 0) return (await this.#table.put(pointerKey(scope), attributes, ifNotExists)).kind === 'stored';
    const names = Object.keys(attributes);
    const changed = await this.#table.update(
      pointerKey(scope),
      {
        expression: `SET ${names.map((name) => `#${name} = :${name}`).join(', ')}`,
        names: Object.fromEntries(names.map((name) => [`#${name}`, name])),
        values: Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`:${name}`, value])),
      },
      { expression: '#revision = :from', values: { ':from': number(from) } },
    );
    return changed !== undefined;
  }

  async pin(
    scope: Scope,
    id: DeploymentId,
    runId: RunId,
    { since, expiresAt }: { readonly since: Instant; readonly expiresAt: Instant },
  ): Promise<void> {
    await this.#table.put(pinKey(scope, id, runId), pinItem.encode({ runId, since }, expiresAt));
  }

  async extendPin(
    scope: Scope,
    id: DeploymentId,
    runId: RunId,
    { since, expiresAt }: { readonly since: Instant; readonly expiresAt: Instant },
  ): Promise<void> {
    await this.#table.replace(pinKey(scope, id, runId), pinItem.encode({ runId, since }, expiresAt), ifExists);
  }

  async unpin(scope: Scope, id: DeploymentId, runId: RunId): Promise<void> {
    await this.#table.delete(pinKey(scope, id, runId), ifExists);
  }

  async pinnedRuns(scope: Scope, id: DeploymentId, limit: number): Promise<readonly PinnedRun[]> {
    const items = this.#table.query({
      ConsistentRead: true,
      KeyConditionExpression: 'pk = :pk',
      ExpressionAttributeValues: { ':pk': text(pinPartition(scope, id)) },
    });
    return (await firstOf(items, limit)).map(pinItem.decode);
  }
}

const pinItem = itemSchema('a pin of a deployment', { runId: stringOf(storedRunId), since: anyInstant });

const deploymentItem = itemSchema('a deployment', {
  manifest: jsonOf(storedManifest),
  createdAt: anyInstant,
  createdBy: nullable(stringOf(keyId)),
  verifiedAt: optional(anyInstant),
  activatedAt: optional(anyInstant),
  removingSince: optional(anyInstant),
});
const tombstoneItem = itemSchema('a removed deployment', { removedAt: anyInstant });
/** Undefined for the tombstone of a removed deployment. */
const deploymentIn = (item: Item): Deployment | undefined => {
  if ('manifest' in item) return deploymentItem.decode(item);
  tombstoneItem.decode(item);
  return undefined;
};

const entryItem = itemSchema('a list entry of a deployment', { deploymentId: stringOf(deploymentId), createdAt: anyInstant });

const activation = z.object({ deploymentId, at: instant, by: keyId.nullable(), isRollback: z.literal(true).exactOptional() });
const pointerItem = itemSchema('the active deployments', {
  revision: anyNumber,
  apps: jsonOf(
    z
      .array(
        z.object({
          app: appName,
          workflows: z.array(z.string()).readonly(),
          history: z.tuple([activation], activation).readonly(),
        }),
      )
      .readonly(),
  ),
});

export const deploymentPorts = (resources: Resources): Makers<DeploymentPorts> => ({
  deployments: () => new DynamoDeployments(resources.control),
  artifacts: () => new S3Artifacts(resources.objects, resources.settings.bucket, resources.clock),
});
