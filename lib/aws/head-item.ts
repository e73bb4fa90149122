/** The item of a head: commit 1, the creation record, and the projection. Only the projection changes after the creation. */
import * as z from 'zod';
import { defined } from '../base/defined.ts';
import { failure } from '../codec/events.ts';
import * as schema from '../codec/ids.ts';
import { unpack } from '../codec/packed.ts';
import { Unreadable, read, readJson } from '../codec/unreadable.ts';
import { runsTableKeys } from '../contract/environment.ts';
import { type DeploymentId, firstCommit, type RunAddress } from '../engine/ids.ts';
import { type Head, type HeadProjection, type RunCreation, firstProjection, isTestRun, runStatuses } from '../engine/log/head.ts';
import type { Instant } from '../engine/time.ts';
import { listedState } from '../ports/run-index.ts';
import {
  type Item,
  expiry,
  instantAttribute,
  number,
  numberAttribute,
  packed,
  packedAttribute,
  present,
  text,
  textAttribute,
} from './item-schema.ts';
import { commitAttributes, commitOf, commitShape } from './run-items.ts';
import { creationSort, projectPartitionOf, runIn, statePartitionOf } from './run-keys.ts';
import type { Expression } from './table.ts';

const projectionShape = {
  status: textAttribute.pipe(z.enum(runStatuses)),
  asOf: numberAttribute.pipe(schema.commitNo),
  attention: textAttribute.pipe(z.enum(['waiting', 'retrying'])).exactOptional(),
  endedAt: instantAttribute.exactOptional(),
  error: packedAttribute.exactOptional(),
};

const headItem = z.object({
  ...commitShape,
  pk: textAttribute.transform(runIn),
  k: textAttribute.pipe(z.enum(['graph', 'bundle', 'code'])),
  w: textAttribute,
  wv: numberAttribute.exactOptional(),
  cv: textAttribute.exactOptional(),
  d: textAttribute.pipe(schema.deploymentId).exactOptional(),
  t: numberAttribute.pipe(z.literal(1)).exactOptional(),
  ca: instantAttribute,
  da: instantAttribute,
  aa: instantAttribute.exactOptional(),
  x: instantAttribute,
  h: textAttribute,
  ci: textAttribute.pipe(schema.correlationId).exactOptional(),
  tp: textAttribute.pipe(schema.traceparent).exactOptional(),
  ...projectionShape,
});
const projectionItem = z.object(projectionShape);

export const headAttributes = (run: RunCreation): Item => ({
  ...commitAttributes(run.commit),
  ...present({
    k: text(run.kind),
    w: text(run.workflow.name),
    wv: run.kind === 'graph' ? number(run.workflow.version) : undefined,
    cv: run.kind === 'code' && run.workflow.version !== undefined ? text(run.workflow.version) : undefined,
    d: run.deploymentId === null ? undefined : text(run.deploymentId),
    t: isTestRun(run) ? number(1) : undefined,
    ca: number(run.createdAt),
    da: number(run.deadlineAt),
    aa: run.availableAt === undefined ? undefined : number(run.availableAt),
    x: number(run.expiresAt),
    h: text(run.bodyHash),
    ci: run.trace && text(run.trace.correlationId),
    tp: run.trace && text(run.trace.traceparent),
  }),
  ...projectionAttributes(firstProjection),
  [runsTableKeys.expiry]: expiry(run.expiresAt),
  [runsTableKeys.byProject.partition]: text(projectPartitionOf(run.address)),
  [runsTableKeys.byProject.sort]: text(creationSort(run.createdAt, run.address.runId)),
});

/** The attributes that a projection sets. An update removes the optional attributes that are not among them. */
export const projectionAttributes = (projection: HeadProjection): Item =>
  present({
    status: text(projection.status),
    asOf: number(projection.asOf),
    attention: projection.attention && text(projection.attention),
    endedAt: projection.endedAt === undefined ? undefined : number(projection.endedAt),
    error: projection.error && packed(projection.error),
  });
export const optionalProjectionNames = ['attention', 'endedAt', 'error'] as const;

export const headIn = (item: Item): Head => {
  const { pk, k, w, wv, cv, d, t, ca, da, aa, x, h, ci, tp, ...rest } = read('a head', headItem, item);
  const { status, asOf, attention, endedAt, error, ...commit } = rest;
  return defined({
    address: pk,
    ...creationFields({ kind: k, name: w, version: wv, codeVersion: cv, deployment: d, test: t }),
    createdAt: ca,
    deadlineAt: da,
    availableAt: aa,
    expiresAt: x,
    bodyHash: h,
    trace: ci === undefined || tp === undefined ? undefined : { correlationId: ci, traceparent: tp },
    commit: commitOf(firstCommit, commit),
    projection: projectionOf({ status, asOf, attention, endedAt, error }),
  });
};

/** The projection of a code run, a separate item. */
export const projectionIn = (item: Item): HeadProjection => projectionOf(read('a projection', projectionItem, item));

const projectionOf = ({ error, ...facts }: Projected): HeadProjection =>
  defined({ ...facts, error: error && readJson('the error of a head', failure, unpack('the error of a head', error)) });

type Parsed = z.output<typeof projectionItem>;
type Projected = { readonly [Name in keyof Parsed]: Parsed[Name] | undefined } & Pick<Parsed, 'status' | 'asOf'>;

interface CreationFields {
  readonly kind: Head['kind'];
  readonly name: string;
  readonly version: number | undefined;
  /** the version that the author of the code chose */
  readonly codeVersion: string | undefined;
  readonly deployment: DeploymentId | undefined;
  readonly test: 1 | undefined;
}

const creationFields = ({ kind, name, version, codeVersion, deployment, test }: CreationFields) => {
  if (kind === 'graph' && version !== undefined) {
    return defined({ kind, workflow: { name, version }, deploymentId: null, isTest: test === 1 ? (true as const) : undefined });
  }
  if (kind === 'bundle' && deployment !== undefined) return { kind, workflow: { name }, deploymentId: deployment };
  if (kind === 'code' && deployment !== undefined) {
    const workflow = defined({ name, version: codeVersion });
    return { kind, workflow, deploymentId: deployment };
  }
  throw new Unreadable('a head', `a ${kind} run without a ${kind === 'graph' ? 'version' : 'deployment'}`);
};

const { byProject, byState } = runsTableKeys;

/**
 * Sets the attributes of the projection, removes the other optional ones, and adds the run to the sparse index or removes it.
 * @param separateItem other attributes of the projection's item, if it is apart from the head; absent: part of the head
 */
export const projectionUpdate = (
  run: RunAddress,
  projection: HeadProjection,
  separateItem?: { readonly createdAt: Instant; readonly expiresAt: Instant },
): Expression => {
  const attributes = {
    ...projectionAttributes(projection),
    ...(separateItem === undefined ? {} : { [runsTableKeys.expiry]: expiry(separateItem.expiresAt) }),
  };
  const state = listedState(projection);
  const sets = Object.keys(attributes).map((name) => `#${name} = :${name}`);
  const removes = optionalProjectionNames.filter((name) => !(name in attributes)).map((name) => `#${name}`);
  // Both indexes sort by creation. A head already has the sort key; a separate item needs it.
  const creationKey = separateItem && text(creationSort(separateItem.createdAt, run.runId));
  if (state !== undefined) sets.push(`#sp = :sp`, creationKey === undefined ? '#ss = #gs' : '#ss = :ss');
  else removes.push('#sp', '#ss');
  return {
    expression: `SET ${sets.join(', ')}${removes.length > 0 ? ` REMOVE ${removes.join(', ')}` : ''}`,
    names: {
      ...Object.fromEntries([...Object.keys(attributes), ...optionalProjectionNames].map((name) => [`#${name}`, name])),
      '#sp': byState.partition,
      '#ss': byState.sort,
      ...(state !== undefined && creationKey === undefined && { '#gs': byProject.sort }),
    },
    values: {
      ...Object.fromEntries(Object.entries(attributes).map(([name, value]) => [`:${name}`, value])),
      ...(state !== undefined && {
        ':sp': text(statePartitionOf(run, state)),
        ...(creationKey !== undefined && { ':ss': creationKey }),
      }),
    },
  };
};
