/** Items of deployments in the control table: records, list entries, tombstones, and the active pointer. */
import * as z from 'zod';
import { storedManifest } from '../codec/deployment.ts';
import { deploymentId, instant, keyId } from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { read, readJson } from '../codec/unreadable.ts';
import type { Instant } from '../engine/time.ts';
import type { ActivePointer, Deployment, DeploymentPosition } from '../ports/deployments.ts';
import {
  type Item,
  instantAttribute,
  number,
  numberAttribute,
  packed,
  packedAttribute,
  present,
  text,
  textAttribute,
} from './attributes.ts';
import { itemVersion, itemVersionAttribute } from './item-version.ts';

const optional = (at: Instant | undefined) => (at === undefined ? undefined : number(at));

export const deploymentAttributes = (deployment: Deployment): Item => ({
  v: itemVersion,
  ...present({
    manifest: packed(deployment.manifest),
    createdAt: number(deployment.createdAt),
    createdBy: deployment.createdBy === null ? undefined : text(deployment.createdBy),
    verifiedAt: optional(deployment.verifiedAt),
    activatedAt: optional(deployment.activatedAt),
    removingSince: optional(deployment.removingSince),
  }),
});

export const tombstoneAttributes = (removedAt: Instant): Item => ({ v: itemVersion, removedAt: number(removedAt) });

const tombstoneItem = z.object({ v: itemVersionAttribute, removedAt: instantAttribute }).transform(() => undefined);
const deploymentItem = z
  .object({
    v: itemVersionAttribute,
    manifest: packedAttribute,
    createdAt: instantAttribute,
    createdBy: textAttribute.pipe(keyId).exactOptional(),
    verifiedAt: instantAttribute.exactOptional(),
    activatedAt: instantAttribute.exactOptional(),
    removingSince: instantAttribute.exactOptional(),
  })
  .transform(({ v: _v, manifest, createdBy = null, ...facts }): Deployment => {
    const stored = unpack('a manifest', manifest);
    return { manifest: readJson('a manifest', storedManifest, stored), createdBy, ...facts };
  });

/** Undefined for the tombstone of a removed deployment. */
export const deploymentIn = (item: Item): Deployment | undefined =>
  read('a deployment', z.union([deploymentItem, tombstoneItem]), item);

export const entryAttributes = ({ createdAt, deploymentId: id }: DeploymentPosition): Item => ({
  v: itemVersion,
  deploymentId: text(id),
  createdAt: number(createdAt),
});

const entryItem = z.object({
  v: itemVersionAttribute,
  deploymentId: textAttribute.pipe(deploymentId),
  createdAt: instantAttribute,
});
export const entryIn = (item: Item): DeploymentPosition => {
  const { v: _v, ...position } = read('a list entry of a deployment', entryItem, item);
  return position;
};

export const pointerAttributes = ({ revision, history }: ActivePointer): Item => ({
  v: itemVersion,
  revision: number(revision),
  history: packed(history),
});

const activations = z.array(
  z.object({ deploymentId, at: instant, by: keyId.nullable(), isRollback: z.literal(true).exactOptional() }),
);
const pointerItem = z.object({ v: itemVersionAttribute, revision: numberAttribute, history: packedAttribute });
export const pointerIn = (item: Item): ActivePointer => {
  const { revision, history } = read('the active deployment', pointerItem, item);
  return { revision, history: readJson('the active deployment', activations, unpack('the active deployment', history)) };
};
